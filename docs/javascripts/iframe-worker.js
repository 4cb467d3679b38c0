// Search for pages that are opened from a disk. A browser starts no worker from a file, so that the theme's
// search worker runs in a hidden frame. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  const load = (page, url) =>
    new Promise((loaded, failed) => {
      const script = page.createElement("script");
      script.onload = loaded;
      script.onerror = failed;
      script.src = url;
      page.body.append(script);
    });

  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => load(frame.contentDocument, next)), Promise.resolve());
      this.ready = load(frame.contentDocument, url);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
  };
  window.Worker = window.IFrameWorker;
}

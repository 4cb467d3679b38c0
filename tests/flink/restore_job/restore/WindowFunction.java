package restore;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Shows what is in a window when it ends. */
final class WindowFunction extends ProcessWindowFunction<Object, Object, Object, TimeWindow> {
    private final Request.Operator description;

    WindowFunction(Request.Operator description) {
        this.description = description;
    }

    @Override
    public void process(
            Object key, Context context, Iterable<Object> elements, Collector<Object> out) {
        TypeInformation<Object> type = TypeWords.type(description.windows().type());
        List<Object> contents = new ArrayList<>();
        elements.forEach(element -> contents.add(Json.of(element, type)));
        Rows.add(
                description.uid(),
                getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(),
                "key",
                Json.of(key, TypeWords.type(description.key())),
                "window",
                Json.of(context.window()),
                "contents",
                contents);
    }
}

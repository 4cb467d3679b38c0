package changes;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs versions of one job in a local cluster, one after the other.
 *
 * <p>Arguments: an empty folder. Each line of the standard input is a {@link Request} in JSON. The answer is
 * a line with {@code savepoint}, that of the running job, and {@code kept}, the values that it has found by
 * state; or with {@code error}. A job that is kept goes on, and the answer has {@code rest}, the address of
 * the cluster, and {@code job}, its id.
 */
public final class JobServer {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();

    /** Of all compilations, so that jars stay open: Flink's have 40,000 entries. */
    private static final StandardJavaFileManager FILES =
            COMPILER.getStandardFileManager(null, null, null);

    static {
        String path = System.getProperty("java.class.path");
        FILES.handleOption("-classpath", List.of(path).iterator());
    }

    private static final int SLOTS = 4;

    private final LocalCluster cluster;
    private final String inbox;

    private JobServer(LocalCluster cluster, String inbox) {
        this.cluster = cluster;
        this.inbox = inbox;
    }

    /** What runs: sources and classes are folders, the target is a URI. */
    record Request(
            String sources,
            String classes,
            String savepoint,
            String target,
            String format,
            int operators,
            boolean keep,
            Map<String, String> configuration) {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Flink logs to the standard output, which is not for that here.
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Configuration configuration = Configuration.fromMap(Map.of("rest.port", "0"));
        try (LocalCluster cluster = LocalCluster.start(configuration, SLOTS)) {
            JobServer server = new JobServer(cluster, args[0]);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                Request request = MAPPER.readValue(line, Request.class);
                answers.println(MAPPER.writeValueAsString(server.answer(request)));
            }
        }
    }

    private Map<String, Object> answer(Request request) {
        Map<String, Object> answer = new HashMap<>();
        Seen.take();
        try {
            run(request, answer);
            answer.put("kept", Seen.take());
        } catch (Exception error) {
            answer.put("error", ExceptionUtils.stringifyException(error));
        }
        return answer;
    }

    private void run(Request request, Map<String, Object> answer) throws Exception {
        JobGraph graph = graph(request);
        JobID job = graph.getJobID();
        cluster.submit(graph);
        int expected = Keys.COUNT * request.operators();
        LocalCluster.await(
                "the job does not process its keys",
                () -> cluster.isRunning(job) && Seen.elements() == expected);
        if (request.keep()) {
            answer.put("rest", cluster.restAddress().toString());
            answer.put("job", job.toString());
            return;
        }
        SavepointFormatType format = SavepointFormatType.valueOf(request.format().toUpperCase());
        answer.put("savepoint", cluster.savepoint(job, request.target(), format));
        cluster.cancel(job);
    }

    /** The job, whose classes only its own class loader knows: each version has the same names. */
    private JobGraph graph(Request request) throws Exception {
        File classes = new File(request.classes());
        if (!new File(classes, "app").exists()) {
            compile(new File(request.sources(), "Job.java"), classes);
        }
        URL url = classes.toURI().toURL();
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {url}, before)) {
            Thread.currentThread().setContextClassLoader(loader);
            Map<String, String> entries = new HashMap<>(request.configuration());
            entries.put("restart-strategy.type", "none");
            entries.put("parallelism.default", "1");
            if (request.savepoint() != null) {
                entries.put("execution.state-recovery.path", request.savepoint());
            }
            StreamExecutionEnvironment env =
                    new StreamExecutionEnvironment(Configuration.fromMap(entries), loader);
            loader.loadClass("app.Job")
                    .getMethod("build", DataStream.class)
                    .invoke(null, numbers(env));
            JobGraph graph = env.getStreamGraph().getJobGraph();
            graph.setClasspaths(List.of(url));
            return graph;
        } catch (InvocationTargetException error) {
            throw (Exception) error.getCause();
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    private static void compile(File source, File classes) {
        List<String> options = List.of("-nowarn", "-XDsuppressNotes", "-d", classes.getPath());
        PrintWriter errors = new PrintWriter(System.err, true);
        if (!COMPILER
                .getTask(errors, FILES, null, options, null, FILES.getJavaFileObjects(source))
                .call()) {
            throw new IllegalArgumentException(source + " can't be compiled");
        }
    }

    private DataStream<Integer> numbers(StreamExecutionEnvironment env) {
        FileSource<String> source =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(inbox))
                        .monitorContinuously(java.time.Duration.ofHours(1))
                        .build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "nothing")
                .uid("nothing")
                .transform("keys", Types.INT, new Keys())
                .uid("keys");
    }
}

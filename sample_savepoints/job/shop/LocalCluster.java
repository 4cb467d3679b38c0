package shop;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;

/** A cluster within this JVM, of one task manager, and what is asked of its jobs. */
public final class LocalCluster implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final MiniCluster cluster;

    private LocalCluster(MiniCluster cluster) {
        this.cluster = cluster;
    }

    public static LocalCluster start(Configuration configuration, int slots) throws Exception {
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(configuration)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(slots)
                                .build());
        cluster.start();
        return new LocalCluster(cluster);
    }

    /** Where clients of the cluster find it. */
    public URI restAddress() throws Exception {
        return cluster.getRestAddress().get();
    }

    public void submit(JobGraph graph) throws Exception {
        cluster.submitJob(graph).get();
    }

    /** Waits until every subtask has restored its state and takes input. */
    public void awaitRunning(JobID job) throws Exception {
        await("the job does not run", () -> isRunning(job));
    }

    /** Asks again and again; the message is for whoever reads why it was in vain. */
    public static void await(String message, Condition condition) throws Exception {
        Instant deadline = Instant.now().plus(PATIENCE);
        while (!condition.holds()) {
            if (Instant.now().isAfter(deadline)) {
                throw new IllegalStateException(message);
            }
            Thread.sleep(20);
        }
    }

    /** Whether every subtask runs; throws what the job has failed with, if it has. */
    public boolean isRunning(JobID job) throws Exception {
        JobStatus status = cluster.getJobStatus(job).get();
        if (status.isTerminalState()) {
            awaitEnd(job);
        }
        if (status != JobStatus.RUNNING) {
            return false;
        }
        AccessExecutionGraph graph = cluster.getExecutionGraph(job).get();
        for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
            if (vertex.getExecutionState() != ExecutionState.RUNNING) {
                return false;
            }
        }
        return true;
    }

    /** Throws what the job has failed with, if it has. */
    public void awaitEnd(JobID job) throws Exception {
        cluster.requestJobResult(job)
                .get()
                .toJobExecutionResult(LocalCluster.class.getClassLoader());
    }

    public String savepoint(JobID job, String target, SavepointFormatType format)
            throws Exception {
        return cluster.triggerSavepoint(job, target, false, format).get();
    }

    /** Stops the job with a savepoint. */
    public String stop(JobID job, String target, SavepointFormatType format) throws Exception {
        return cluster.stopWithSavepoint(job, target, false, format).get();
    }

    public String checkpoint(JobID job) throws Exception {
        return cluster.triggerCheckpoint(job).get();
    }

    public void cancel(JobID job) throws Exception {
        cluster.cancelJob(job).get();
        cluster.requestJobResult(job).get();
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }

    /** Something that becomes true. */
    public interface Condition {
        boolean holds() throws Exception;
    }
}

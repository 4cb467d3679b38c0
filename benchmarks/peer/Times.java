package peer;

import java.lang.management.ManagementFactory;
import org.apache.flink.api.common.JobExecutionResult;

/** What is printed of a job. */
final class Times {
    private Times() {}

    /**
     * Prints a line: what the job found, the milliseconds of the job alone, and those since the
     * JVM began.
     */
    static void print(JobExecutionResult job, Object... found) {
        StringBuilder line = new StringBuilder();
        for (Object one : found) {
            line.append(one).append(' ');
        }
        long start = ManagementFactory.getRuntimeMXBean().getStartTime();
        long elapsed = System.currentTimeMillis() - start;
        System.out.println(line.append(job.getNetRuntime()).append(' ').append(elapsed));
    }
}

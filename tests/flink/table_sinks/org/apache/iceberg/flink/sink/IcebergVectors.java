package org.apache.iceberg.flink.sink;

import org.apache.flink.core.io.SimpleVersionedSerialization;

/** Prints what Iceberg's serializer writes; its classes are visible in their package alone. */
public final class IcebergVectors {
    private IcebergVectors() {}

    public static byte[] committable() throws Exception {
        byte[] manifests =
                SimpleVersionedSerialization.writeVersionAndSerialize(
                        DeltaManifestsSerializer.INSTANCE, new DeltaManifests(null, null));
        return SimpleVersionedSerialization.writeVersionAndSerialize(
                new IcebergCommittableSerializer(),
                new IcebergCommittable(manifests, "00ff", "files", 9));
    }

    public static byte[] empty() throws Exception {
        return SimpleVersionedSerialization.writeVersionAndSerialize(
                new IcebergCommittableSerializer(),
                new IcebergCommittable(new byte[0], "00ff", "files", 9));
    }
}

/** Load and capacity of the host, measured at the call. */
export interface HostFacts {
  load(): {
    cpu: { cores: number; load_avg_1: number; load_avg_5: number; load_avg_15: number }
    memory: { total_bytes: number; used_bytes: number; available_bytes: number }
  }
  /** Returns the capacity of the filesystem that holds `path`. */
  storage(path: string): Promise<DiskCapacity>
}

/** Bytes of the filesystem that holds `path`, as measured at the call. */
export interface DiskCapacity {
  path: string
  totalBytes: number
  usedBytes: number
  availableBytes: number
}

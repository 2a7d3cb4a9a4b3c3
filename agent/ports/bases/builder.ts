/** Builds the root tree of a base on this host. */
export interface BaseBuilder {
  /** Names it can build, such as `debian` and `busybox`. */
  readonly names: readonly string[]
  /** Fills the empty directory `path` with the root tree of `name`. `progress` receives messages for the operator. */
  build(name: string, path: string, options: { progress(message: string): void; signal: AbortSignal }): Promise<void>
}

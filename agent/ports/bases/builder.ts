/** Makes the root tree of a base that this host can build by itself. */
export interface BaseBuilder {
  /** The names it can build, such as `debian` and `busybox`. */
  readonly names: readonly string[]
  /** Fills the empty directory `path` with the root tree of `name`; `progress` tells a person what goes on. */
  build(name: string, path: string, options: { progress(message: string): void; signal: AbortSignal }): Promise<void>
}

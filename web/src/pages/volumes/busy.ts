/** Processes that prevent detaching a volume, as `volume_busy` reports them. */
export interface VolumeUsers {
  /** The path in the box at which they use it. */
  path: string
  processes: readonly { pid: string; name: string }[]
}

/** Reads the processes from the detail of `volume_busy`, or returns null if it names none. */
export function parseVolumeUsers(detail: string): VolumeUsers | null {
  const [, path, list] = / at (\/[^:]*): (\d+ \(.*\))\.(?: End them first\.)?$/.exec(detail) ?? []
  if (path === undefined || list === undefined) return null
  const processes = [...list.matchAll(/(\d+) \((.*?)\)(?=, \d+ \(|$)/g)]
  return { path, processes: processes.map(([, pid = '', name = '']) => ({ pid, name })) }
}

/** A line of `mountinfo`. */
export interface MountLine {
  id: number
  parentId: number
  /** Device number of the filesystem, `major:minor`. With btrfs it differs from the number in stat. */
  device: string
  /** Path of the mounted directory within the filesystem. */
  root: string
  /** Mount point as bytes, one character each, because a box may use names that are not UTF-8. */
  rawPath: string
  /** Mount point decoded as UTF-8. */
  path: string
  readOnly: boolean
  /** Type of the filesystem, such as `btrfs`. */
  type: string
  /** Source of the mount, such as a device's path. */
  source: string
  /** Options of the filesystem, comma-separated. The options of an overlay name its layers. */
  superOptions: string
  /** Numbers of its peer group and of the group that it receives mounts from. Null for none. */
  peerGroup: number | null
  masterGroup: number | null
}

/** Parses the bytes of a `mountinfo` file into its mounts, in order. Pure. */
export function parseMountInfo(bytes: Buffer): MountLine[] {
  const lines = bytes.toString('latin1').split('\n')
  return lines.flatMap((line) => {
    const [id = '', parentId, device = '', root = '', mountPoint = '', options = ''] = line.split(' ')
    if (id === '') return []
    const rawPath = unescapeOctal(mountPoint)
    const [fields = '', filesystem = ''] = line.split(' - ')
    const [type = '', source = '', superOptions = ''] = filesystem.split(' ')
    return [
      {
        id: Number(id),
        parentId: Number(parentId),
        device,
        root: asText(unescapeOctal(root)),
        rawPath,
        path: asText(rawPath),
        readOnly: options.split(',').includes('ro'),
        type,
        source: asText(unescapeOctal(source)),
        superOptions: unescapeOctal(superOptions),
        peerGroup: groupOf(fields, 'shared'),
        masterGroup: groupOf(fields, 'master'),
      },
    ]
  })
}

/** Maps paths within a filesystem to paths of the host. */
export interface TreePaths {
  /** Returns the host path of the path `root` within the filesystem, or null if the known mount does not show it. */
  hostPath(root: string): string | null
}

/**
 * Creates the mapping from one pair: `hostPath` on the host is `root` within the filesystem. Before their common suffix they give
 * the mount point on the host and the mounted directory. Pure.
 */
export function createTreePaths(hostPath: string, root: string): TreePaths {
  const [host, inside] = [hostPath.split('/'), root.split('/')]
  while (host.length > 1 && inside.length > 1 && host.at(-1) === inside.at(-1)) {
    host.pop()
    inside.pop()
  }
  const [hostPrefix, prefix] = [host.join('/'), `${inside.join('/')}/`]
  return { hostPath: (path) => (path.startsWith(prefix) ? `${hostPrefix}/${path.slice(prefix.length)}` : null) }
}

function groupOf(fields: string, kind: 'shared' | 'master'): number | null {
  const found = fields.split(' ').find((field) => field.startsWith(`${kind}:`))
  return found === undefined ? null : Number(found.slice(kind.length + 1))
}

function unescapeOctal(text: string): string {
  return text.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

function asText(raw: string): string {
  return Buffer.from(raw, 'latin1').toString('utf8')
}

/** A line of `mountinfo`. */
export interface MountLine {
  id: number
  parentId: number
  /** The filesystem's device number, `major:minor`; with btrfs it is not what stat tells. */
  device: string
  /** What of the filesystem is mounted. */
  root: string
  /** Where, as bytes, one character each: a box may use names that are no text. */
  rawPath: string
  /** The same as text. */
  path: string
  readOnly: boolean
}

/** The mounts that the bytes of a `mountinfo` file tell of, in their order. A pure function. */
export function parseMountInfo(bytes: Buffer): MountLine[] {
  const lines = bytes.toString('latin1').split('\n')
  return lines.flatMap((line) => {
    const [id = '', parentId, device = '', root = '', place = '', options = ''] = line.split(' ')
    if (id === '') return []
    const rawPath = unescapeOctal(place)
    return [
      {
        id: Number(id),
        parentId: Number(parentId),
        device,
        root: asText(unescapeOctal(root)),
        rawPath,
        path: asText(rawPath),
        readOnly: options.split(',').includes('ro'),
      },
    ]
  })
}

/** Turns paths of a filesystem into paths of the host, and back. */
export interface TreePaths {
  /** The host path of what is `root` of the filesystem; null if it is on no mount we know. */
  hostPath(root: string): string | null
}

/**
 * The paths of the filesystem of which the host's `hostPath` is `root`: what is before their common end is where it is mounted
 * on the host, and what of it. A pure function.
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

function unescapeOctal(text: string): string {
  return text.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}

function asText(raw: string): string {
  return Buffer.from(raw, 'latin1').toString('utf8')
}

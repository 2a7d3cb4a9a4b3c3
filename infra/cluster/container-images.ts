import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { PAUSE_IMAGE } from './node-configuration.ts'
import { type ArchiveEntry, packTar } from './tar-archive.ts'

/** An image with a shell, for pods of tests. */
export const BUSYBOX_IMAGE = 'boxyard.test/busybox:1'

/** Packs an OCI archive of a cluster's images from static programs of Debian, so that no registry is needed. */
export function packImages(): Buffer {
  const blobs = new Map<string, Buffer>()
  const manifests = [
    addImage(blobs, PAUSE_IMAGE, { entries: pauseRoot(), Entrypoint: ['/catatonit', '-P'] }),
    addImage(blobs, BUSYBOX_IMAGE, { entries: busyboxRoot(), Cmd: ['/bin/sh'] }),
  ]
  const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests }
  return packTar([
    { path: 'oci-layout', content: encode({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', content: encode(index) },
    ...[...blobs].map(([digest, content]) => ({ path: `blobs/sha256/${digest}`, content })),
  ])
}

function pauseRoot(): ArchiveEntry[] {
  return [{ path: 'catatonit', mode: 0o755, content: readFileSync('/usr/bin/catatonit') }]
}

function busyboxRoot(): ArchiveEntry[] {
  const applets = execFileSync('/usr/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n')
  return [
    ...['bin/', 'etc/', 'root/', 'var/', 'work/'].map((path) => ({ path })),
    { path: 'tmp/', mode: 0o1777 },
    { path: 'etc/passwd', content: Buffer.from('root:x:0:0:root:/root:/bin/sh\n') },
    { path: 'etc/group', content: Buffer.from('root:x:0:\n') },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync('/usr/bin/busybox') },
    ...applets.filter((name) => name !== 'busybox').map((name) => ({ path: `bin/${name}`, linkTo: 'busybox' })),
  ]
}

interface Image {
  entries: readonly ArchiveEntry[]
  Entrypoint?: readonly string[]
  Cmd?: readonly string[]
}

function addImage(blobs: Map<string, Buffer>, name: string, { entries, ...command }: Image): object {
  const add = (mediaType: string, content: Buffer): { mediaType: string; digest: string; size: number } => {
    const digest = createHash('sha256').update(content).digest('hex')
    blobs.set(digest, content)
    return { mediaType, digest: `sha256:${digest}`, size: content.length }
  }
  const platform = { architecture: process.arch === 'arm64' ? 'arm64' : 'amd64', os: 'linux' }
  const layer = add('application/vnd.oci.image.layer.v1.tar', packTar(entries))
  const config = add(
    'application/vnd.oci.image.config.v1+json',
    encode({
      ...platform,
      config: { ...command, Env: ['PATH=/bin'], WorkingDir: '/' },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    }),
  )
  const mediaType = 'application/vnd.oci.image.manifest.v1+json'
  const manifest = add(mediaType, encode({ schemaVersion: 2, mediaType, config, layers: [layer] }))
  return { ...manifest, platform, annotations: { 'io.containerd.image.name': name } }
}

function encode(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

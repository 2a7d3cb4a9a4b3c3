import { createHash } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { tarOf } from './hostile-tar.ts'

/** An OCI descriptor. */
export interface LayoutDescriptor {
  mediaType: string
  digest: string
  size: number
  platform?: { os: string; architecture: string }
  annotations?: Record<string, string>
}

/** An OCI image layout under construction, with its blobs by digest. */
export interface ImageLayout {
  parts: Map<string, Uint8Array>
  add(mediaType: string, bytes: Uint8Array, more?: Partial<LayoutDescriptor>): LayoutDescriptor
  /** Adds a layer with the tar `bytes`, compressed as `kind`. */
  addLayer(bytes: Uint8Array, kind: 'tar' | 'gzip' | 'zstd'): LayoutDescriptor
  addManifest(layers: readonly LayoutDescriptor[], more?: Partial<LayoutDescriptor>): LayoutDescriptor
  addIndex(manifests: readonly LayoutDescriptor[], more?: Partial<LayoutDescriptor>): LayoutDescriptor
  /** Packs all blobs and an index of `manifests`. */
  archive(manifests: readonly LayoutDescriptor[]): Buffer
}

/** Creates an empty layout. */
export function newImage(): ImageLayout {
  const parts = new Map<string, Uint8Array>()
  const add: ImageLayout['add'] = (mediaType, bytes, more = {}) => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    parts.set(digest, bytes)
    return { mediaType, digest, size: bytes.length, ...more }
  }
  const addJson = (mediaType: string, value: object, more?: Partial<LayoutDescriptor>): LayoutDescriptor =>
    add(mediaType, Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...value })), more)
  return {
    parts,
    add,
    addLayer: (bytes, kind) => {
      const type = 'application/vnd.oci.image.layer.v1.tar'
      if (kind === 'tar') return add(type, bytes)
      return add(`${type}+${kind}`, kind === 'gzip' ? gzipSync(bytes) : zstdCompressSync(bytes))
    },
    addManifest: (layers, more) => {
      const config = add('application/vnd.oci.image.config.v1+json', Buffer.from('{"config":{"Env":["SECRET=1"]}}'))
      return addJson('application/vnd.oci.image.manifest.v1+json', { config, layers }, more)
    },
    addIndex: (manifests, more) => addJson('application/vnd.oci.image.index.v1+json', { manifests }, more),
    archive: (manifests) =>
      tarOf([
        { name: 'oci-layout', body: '{"imageLayoutVersion":"1.0.0"}' },
        { name: 'index.json', body: JSON.stringify({ schemaVersion: 2, manifests }) },
        ...[...parts].map(([digest, body]) => ({ name: `blobs/${digest.replace(':', '/')}`, body })),
      ]),
  }
}

/** Packs an archive in the format of `docker save` before version 25. Keeps the order of the layers. */
export function savedImage(layers: readonly Uint8Array[], images = 1): Buffer {
  const paths = layers.map((_layer, index) => `${String(index).repeat(8)}/layer.tar`)
  return tarOf([
    ...layers.map((body, index) => ({ name: paths[index] ?? '', body })),
    { name: 'config.json', body: '{}' },
    { name: 'manifest.json', body: JSON.stringify(Array(images).fill({ Config: 'config.json', Layers: paths })) },
  ])
}

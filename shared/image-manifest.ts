import * as z from 'zod'

/** The descriptor of a part of an image: an index, a manifest, a layer. */
export const partSchema = z.looseObject({
  mediaType: z.string().default(''),
  digest: z.string().regex(/^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/),
  platform: z.looseObject({ os: z.string(), architecture: z.string() }).optional(),
  annotations: z.record(z.string(), z.string()).nullish(),
})

/** The images of an index, which may themselves be indexes. */
export const indexSchema = z.looseObject({ manifests: z.array(partSchema).max(1000) })

const LAYERS_MAX = 512

/** The layers of an image, lowest first. */
export const manifestSchema = z.looseObject({ layers: z.array(partSchema).max(LAYERS_MAX) })

/** The digests and sizes of an image in a registry, whose parts may not be downloaded yet. */
export const remoteManifestSchema = z.looseObject({
  mediaType: z.string().default('application/vnd.oci.image.manifest.v1+json'),
  config: partSchema.extend({ size: z.int().min(0) }),
  layers: z.array(partSchema.extend({ size: z.int().min(0) })).max(LAYERS_MAX),
})

/** Layers of an image, nesting of indexes, and bytes, fields and values of each index, manifest and configuration. */
export const IMAGE_LIMITS = {
  ...{ layers: LAYERS_MAX, depth: 3, jsonBytes: 4 * 1024 ** 2 },
  shape: { fields: 8_192, values: 16_384 },
}

/** Returns true if a part may be an image that runs on Linux. Indexes also list attestations, for example of its build. */
export function isRunnable({ platform, annotations }: ImagePart, architecture: string): boolean {
  if (annotations?.['vnd.docker.reference.type'] !== undefined) return false
  return platform === undefined || (platform.os === 'linux' && platform.architecture === architecture)
}

/** Returns true if a layer is of a type that can be unpacked. */
export function isLayerType(mediaType: string): boolean {
  return LAYER_TYPE.test(mediaType)
}

/** Returns the path of a part in an OCI image layout. */
export function partPath(digest: string): string {
  return `/blobs/${digest.replace(':', '/')}`
}

export type ImagePart = z.output<typeof partSchema>

const LAYER_TYPE =
  /^application\/vnd\.(oci\.image\.layer\.v1\.tar(\+gzip|\+zstd)?|docker\.image\.rootfs\.diff\.tar(\.gzip|\.zstd)?)$/

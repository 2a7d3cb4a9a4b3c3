import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { ServiceError } from '../../../shared/errors.ts'
import { readWhole } from '../../../shared/http/gathered-pieces.ts'
import {
  IMAGE_LIMITS,
  indexSchema,
  isLayerType,
  isRunnable,
  partPath,
  remoteManifestSchema,
} from '../../../shared/image-manifest.ts'
import { shapeFault } from '../../../shared/json-shape.ts'
import { refusal } from '../../../shared/refusals.ts'
import { BLOCK_BYTES, encodeTarHeader, paddedSize } from '../../lib/tar/headers.ts'
import type { ImageReference, ImageRegistry, ImageRequest } from '../../ports/bases/image-registry.ts'
import { openRegistryClient, type RegistryClient, type RegistryTimes } from './client.ts'
import { imageFault } from './faults.ts'

export interface ImageRegistryOptions {
  /** Allowed origins of registries, at any address, and with `http:` without encryption. */
  named: readonly string[]
  now(): number
  times?: RegistryTimes
}

/** Finds images in registries that implement the OCI distribution specification. */
export function createImageRegistry({ named, now, times = TIMES }: ImageRegistryOptions): ImageRegistry {
  return {
    find: async (reference, request) => {
      const { signal } = request
      const client = await openRegistryClient({ reference, named: new Set(named), times, now, signal })
      try {
        const image = await findImage(client, reference, request)
        const sizeBytes = image.layers.reduce((sum, { size }) => sum + size, 0)
        if (sizeBytes > request.maxBytes) throw tooLarge(request.maxBytes)
        return { digest: image.digest, sizeBytes, archive: () => archiveOf(client, image), close: client.close }
      } catch (error) {
        client.close()
        throw error
      }
    },
  }
}

type Layer = z.output<typeof remoteManifestSchema>['layers'][number]

interface FoundImage {
  /** Digest of the manifest or index that the reference names. */
  digest: string
  manifest: { mediaType: string; digest: string; bytes: Buffer }
  /** Without duplicates. */
  layers: Layer[]
}

async function findImage(
  client: RegistryClient,
  reference: ImageReference,
  request: ImageRequest,
): Promise<FoundImage> {
  const { architecture } = request
  let part = await readManifest(client, reference.digest ?? reference.tag ?? '', reference.digest)
  const { digest } = part
  let isPlatformKnown = false
  for (let depth = 0; 'manifests' in part.value; depth++) {
    if (depth >= IMAGE_LIMITS.depth) throw imageFault('its indexes do not lead to an image')
    const fitting = parse(indexSchema, part.value).manifests.find((each) => isRunnable(each, architecture))
    if (fitting === undefined) throw wrongPlatform(architecture)
    isPlatformKnown = fitting.platform !== undefined
    part = await readManifest(client, fitting.digest, fitting.digest)
  }
  const { mediaType, config, layers } = parse(remoteManifestSchema, part.value)
  const odd = layers.find(({ mediaType }) => !isLayerType(mediaType))
  if (odd) throw imageFault(`it has a layer of an unsupported type: ${odd.mediaType.slice(0, 100)}`)
  if (!isPlatformKnown) await checkConfig(client, config, architecture)
  const once = new Map(layers.map((layer) => [layer.digest, layer]))
  return { digest, manifest: { mediaType, digest: part.digest, bytes: part.bytes }, layers: [...once.values()] }
}

interface ManifestPart {
  digest: string
  bytes: Buffer
  value: Record<string, unknown>
}

async function readManifest(client: RegistryClient, name: string, expected: string | null): Promise<ManifestPart> {
  const request = { accept: ACCEPTED.join(', '), maxBytes: IMAGE_LIMITS.jsonBytes }
  const bytes = await client.read(`manifests/${name}`, request)
  const algorithm = expected?.split(':')[0] ?? 'sha256'
  const digest = `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`
  if (expected !== null && digest !== expected)
    throw imageFault('the manifest from the registry does not match its digest')
  const value = parse(objectSchema, parseJson(bytes))
  if (value['schemaVersion'] !== 2) throw imageFault('its format is too old')
  // Readers would disagree on its kind.
  if ('manifests' in value && 'layers' in value) throw imageFault('it is both an index and an image')
  return { digest, bytes, value }
}

/** Checks the platform in an image's configuration, for an image that no index describes. */
async function checkConfig(client: RegistryClient, config: Layer, architecture: string): Promise<void> {
  const tooLong = (): Error => imageFault('its configuration is too large')
  if (config.size > IMAGE_LIMITS.jsonBytes) throw tooLong()
  const bytes = await readWhole(client.readPart(config), { maxBytes: config.size, tooLong })
  const parsed = parse(configSchema, parseJson(bytes))
  if ((parsed.os ?? 'linux') !== 'linux' || (parsed.architecture ?? architecture) !== architecture) {
    throw wrongPlatform(architecture)
  }
}

async function* archiveOf(client: RegistryClient, image: FoundImage): AsyncGenerator<Uint8Array> {
  const { mediaType, digest, bytes } = image.manifest
  const index = { schemaVersion: 2, manifests: [{ mediaType, digest, size: bytes.length }] }
  yield* fileOf('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}'))
  yield* fileOf('index.json', Buffer.from(JSON.stringify(index)))
  yield* fileOf(partPath(digest).slice(1), bytes)
  for (const layer of image.layers) {
    yield headerOf(partPath(layer.digest).slice(1), layer.size)
    yield* client.readPart(layer)
    yield paddingOf(layer.size)
  }
  yield Buffer.alloc(2 * BLOCK_BYTES)
}

function* fileOf(path: string, bytes: Buffer): Generator<Uint8Array> {
  yield headerOf(path, bytes.length)
  yield bytes
  yield paddingOf(bytes.length)
}

function headerOf(path: string, sizeBytes: number): Buffer {
  const owner = { uid: 0, gid: 0, mode: 0o600, modifiedSeconds: 0, modifiedNanoseconds: 0 }
  return encodeTarHeader({ kind: 'file', path, target: '', sizeBytes, ...owner })
}

function paddingOf(sizeBytes: number): Buffer {
  return Buffer.alloc(paddedSize(sizeBytes) - sizeBytes)
}

function parseJson(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  const fault = shapeFault(text, IMAGE_LIMITS.shape)
  if (fault !== null) throw imageFault(`the answer of the registry ${fault}`)
  try {
    return JSON.parse(text)
  } catch {
    throw imageFault('the answer of the registry is not JSON')
  }
}

function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw imageFault('it is not an image')
}

function wrongPlatform(architecture: string): ServiceError {
  return imageFault(`it is not for linux/${architecture}, the platform of this host`)
}

function tooLarge(maxBytes: number): ServiceError {
  return refusal('body_too_large', [
    `The layers of the image have more than ${maxBytes} bytes.`,
    'Use a smaller image.',
  ])
}

const ACCEPTED = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]
const objectSchema = z.record(z.string(), z.unknown())
const configSchema = z.looseObject({ os: z.string().optional(), architecture: z.string().optional() })
const TIMES: RegistryTimes = {
  connectMs: 10_000,
  silenceMs: 30_000,
  answerMs: 60_000,
  paceMs: 30_000,
  paceBytes: 1024 ** 2,
}

import { createHash } from 'node:crypto'
import * as z from 'zod'
import { ServiceError } from '../../../shared/errors.ts'
import { readWhole } from '../../../shared/http/gathered-pieces.ts'
import {
  IMAGE_LIMITS,
  type ImagePart,
  indexSchema,
  isLayerType,
  isRunnable,
  manifestSchema,
  partPath,
} from '../../../shared/image-manifest.ts'
import { shapeFault } from '../../../shared/json-shape.ts'
import type { Files, FilesRoot } from '../../ports/files/files.ts'

/** A layer of an image in a directory, compressed or not. */
export interface ImageLayer {
  path: string
  /** Digest that its bytes must have, `sha256:…`. Null for none. */
  digest: string | null
}

/** A directory that holds an image: an OCI image layout, or what `docker save` writes. */
export interface ImageDirectory {
  files: Pick<Files, 'open'>
  root: FilesRoot
  /** Architecture of this host, in the notation of images: `amd64`. */
  architecture: string
}

/**
 * Finds the layers of the one image for this host in a directory, lowest first.
 * @throws ServiceError `invalid_request` for a directory of another kind, a damaged one, and several images or none for this host
 */
export async function findLayers(directory: ImageDirectory): Promise<ImageLayer[]> {
  const index = await readJson(directory, { path: '/index.json', digest: null })
  if (index !== null) return layersOf(directory, parse(indexSchema, index, '/index.json').manifests, 0)
  const saved = await readJson(directory, { path: '/manifest.json', digest: null })
  if (saved === null) throw faulty('is not an image, because it has neither an index.json nor a manifest.json')
  const [image, ...others] = parse(savedSchema, saved, '/manifest.json')
  if (image === undefined || others.length > 0) throw faulty('has several images or none, but must have one')
  return image.Layers.map((path) => ({ path: `/${path}`, digest: null }))
}

/** Reads the bytes of a layer as stored. Throws `invalid_request` at the end if they do not match its digest. */
export async function* layerBytes({ files, root }: ImageDirectory, layer: ImageLayer): AsyncGenerator<Uint8Array> {
  const { path, digest } = layer
  const [algorithm, expected] = digest?.split(':') ?? []
  const hash = algorithm === undefined ? null : createHash(algorithm)
  const file = await openPart(files, root, path)
  if (file === null) throw faulty(`is damaged: ${path} is missing`)
  const end = file.facts.sizeBytes
  for await (const bytes of file.read({ start: 0, end })) {
    hash?.update(bytes)
    yield bytes
  }
  if (hash !== null && hash.digest('hex') !== expected) throw faulty(`is damaged: the digest of ${path} does not match`)
}

async function layersOf(
  directory: ImageDirectory,
  manifests: readonly ImagePart[],
  depth: number,
): Promise<ImageLayer[]> {
  const { architecture } = directory
  const fitting = manifests.filter((each) => isRunnable(each, architecture))
  const [digest, ...others] = new Set(fitting.map((each) => each.digest))
  if (digest === undefined) throw faulty(`has no image for linux/${architecture}`)
  if (others.length > 0) throw faulty(`has several images for linux/${architecture}`)
  const path = partPath(digest)
  const text = await readJson(directory, { path, digest })
  if (text === null) throw faulty(`is damaged: ${path} is missing`)
  const isIndex = typeof text === 'object' && text !== null && 'manifests' in text
  if (!isIndex) return parse(manifestSchema, text, path).layers.map(layerOf)
  if (depth >= IMAGE_LIMITS.depth) throw faulty('is damaged: its indexes do not lead to an image')
  return layersOf(directory, parse(indexSchema, text, path).manifests, depth + 1)
}

function layerOf({ mediaType, digest }: ImagePart): ImageLayer {
  if (!isLayerType(mediaType)) throw faulty(`has a layer of an unsupported type: ${mediaType.slice(0, 100)}`)
  return { path: partPath(digest), digest }
}

/** Reads a JSON file. Null if there is none. */
async function readJson(directory: ImageDirectory, part: ImageLayer): Promise<unknown> {
  const { files, root } = directory
  const file = await openPart(files, root, part.path)
  file?.close()
  if (file === null) return null
  const tooLong = (): Error => faulty(`is damaged: ${part.path} is larger than 4 MiB`)
  if (file.facts.sizeBytes > IMAGE_LIMITS.jsonBytes) throw tooLong()
  const bytes = await readWhole(layerBytes(directory, part), { maxBytes: IMAGE_LIMITS.jsonBytes, tooLong })
  const text = bytes.toString('utf8')
  const fault = shapeFault(text, IMAGE_LIMITS.shape)
  if (fault !== null) throw faulty(`is damaged: ${part.path} ${fault}`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw faulty(`is damaged: ${part.path} is not JSON`, cause)
  }
}

async function openPart(files: Pick<Files, 'open'>, root: FilesRoot, path: string) {
  try {
    return await files.open(root, Buffer.from(path))
  } catch (error) {
    if (error instanceof ServiceError && ABSENT.has(error.code)) return null
    throw error
  }
}

function parse<T extends z.ZodType>(schema: T, value: unknown, path: string): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw faulty(`is damaged: ${path} has unexpected content`, parsed.error)
}

function faulty(what: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', `The archive ${what}.`, { cause })
}

const ABSENT: ReadonlySet<string> = new Set(['file_not_found', 'not_a_directory', 'is_a_directory', 'path_invalid'])

const savedSchema = z.array(z.looseObject({ Layers: z.array(z.string().max(4096)).max(IMAGE_LIMITS.layers) }))

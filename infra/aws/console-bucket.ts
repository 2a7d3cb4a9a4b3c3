import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import {
  DeleteObjectsCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { fileKind } from '../../functions/console-files.ts'

/** A bucket of the built web console's files, by their paths. */
export interface ConsoleBucket {
  /**
   * Makes the bucket hold the files of a build, and nothing else. Uploads the page after all files that it loads. Last, deletes the files
   * that only the previous page loads. An interrupted run thus leaves either page whole. Returns how many files were sent.
   */
  fill(directory: string): Promise<number>
  /** Deletes all files, because only an empty bucket can be deleted. Does nothing if the bucket is gone. */
  empty(): Promise<void>
}

/** Opens an existing bucket. */
export function openConsoleBucket(client: S3Client, bucket: string): ConsoleBucket {
  const send = async (directory: string, path: string): Promise<boolean> => {
    const bytes = readFileSync(join(directory, path))
    const digest = createHash('sha256').update(bytes).digest('hex')
    const named = { Bucket: bucket, Key: path }
    if ((await readDigest(client, named)) === digest) return false
    const { type, cacheControl } = fileKind(`/${path}`)
    const kind = { ContentType: type, CacheControl: cacheControl, Metadata: { sha256: digest } }
    await client.send(new PutObjectCommand({ ...named, ...kind, Body: bytes }))
    return true
  }
  return {
    fill: async (directory) => {
      const paths = filesOf(directory)
      let sent = 0
      for (const path of paths) if (await send(directory, path)) sent += 1
      await deleteAll(
        client,
        bucket,
        (await listKeys(client, bucket)).filter((key) => !paths.includes(key)),
      )
      return sent
    },
    empty: async () => deleteAll(client, bucket, await listKeys(client, bucket).catch(noneIfGone)),
  }
}

/** Opens a bucket in the account that the environment has credentials for. */
export function openBucketOf(region: string, bucket: string): ConsoleBucket {
  return openConsoleBucket(new S3Client({ region }), bucket)
}

/**
 * Returns the paths of a build, with the page last. Omits the forms that were compressed for a front, because distributions compress files
 * themselves.
 */
function filesOf(directory: string): string[] {
  const all = readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !/\.(br|gz)$/.test(entry.name))
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
  if (!all.includes(PAGE)) throw new Error(`${directory}: expected a built console, with ${PAGE}.`)
  return [...all.filter((path) => path !== PAGE).toSorted(), PAGE]
}

/** Returns the digest that an object was sent with. Returns null if there is no such object, or another program sent it. */
async function readDigest(client: S3Client, named: { Bucket: string; Key: string }): Promise<string | null> {
  try {
    const { Metadata } = await client.send(new HeadObjectCommand(named))
    return Metadata?.['sha256'] ?? null
  } catch (error) {
    if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return null
    throw error
  }
}

async function listKeys(client: S3Client, bucket: string): Promise<string[]> {
  const keys: string[] = []
  let next: string | undefined
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, ...(next ? { ContinuationToken: next } : {}) }),
    )
    for (const { Key = '' } of page.Contents ?? []) keys.push(Key)
    next = page.NextContinuationToken
  } while (next)
  return keys
}

function noneIfGone(error: unknown): string[] {
  if (error instanceof S3ServiceException && error.name === 'NoSuchBucket') return []
  throw error
}

/** @throws Error naming an object that could not be deleted, and why */
async function deleteAll(client: S3Client, bucket: string, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += DELETED_AT_ONCE) {
    const Objects = keys.slice(from, from + DELETED_AT_ONCE).map((Key) => ({ Key }))
    const { Errors } = await client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }))
    const [first] = Errors ?? []
    if (first !== undefined) throw new Error(`${bucket}/${first.Key} was not deleted: ${first.Message}`)
  }
}

const PAGE = 'index.html'
/** The maximum of one call. */
const DELETED_AT_ONCE = 1_000

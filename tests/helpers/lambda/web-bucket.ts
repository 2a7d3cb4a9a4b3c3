import {
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { type ConsoleBucket, openConsoleBucket } from '../../../infra/aws/console-bucket.ts'
import type { ObjectStore } from '../backups/object-store.ts'

/** A website's bucket, with access for its uploader and its readers. */
export interface WebBucket extends ConsoleBucket {
  /** Returns the paths of all files, in order. */
  paths(): Promise<string[]>
  /** Returns a file. Null if it does not exist. */
  read(path: string): Promise<WebFile | null>
  /** Writes a file as another program would. */
  write(path: string, text: string): Promise<void>
  close(): void
}

/** A file as the bucket serves it. */
interface WebFile {
  type: string
  cacheControl: string
  bytes: Uint8Array
}

/** Opens the bucket of the tests' S3 server. */
export function openWebBucket({ place }: Pick<ObjectStore, 'place'>): WebBucket {
  const { endpoint, region, keys, bucket } = place
  const client = new S3Client({ endpoint, region, credentials: keys, forcePathStyle: true })
  return {
    ...openConsoleBucket(client, bucket),
    paths: async () => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
      return Contents.map(({ Key = '' }) => Key).toSorted()
    },
    read: async (path) => {
      try {
        const found = await client.send(new GetObjectCommand({ Bucket: bucket, Key: path }))
        const { ContentType: type = '', CacheControl: cacheControl = '', Body } = found
        return { type, cacheControl, bytes: (await Body?.transformToByteArray()) ?? new Uint8Array() }
      } catch (error) {
        if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return null
        throw error
      }
    },
    write: async (path, text) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: path, Body: text }))
    },
    close: () => client.destroy(),
  }
}

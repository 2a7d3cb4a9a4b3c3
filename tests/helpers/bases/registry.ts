import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { killGroup, spawnChild } from '../../../agent/lib/run.ts'
import { dieWithParent } from '../../../infra/commands.ts'
import { findDebianProgram } from '../../../infra/debian/program.ts'
import { freePort } from '../service.ts'
import type { ImageLayout, LayoutDescriptor } from './image-archive.ts'

/** A container registry on loopback that speaks plain HTTP. */
export interface TestRegistry {
  /** Host for image references. */
  host: string
  /** Origin for the operator's configuration. */
  url: string
  /** Pushes all parts of an image. `tag` points to `top`, which is a manifest or an index. */
  push(repository: string, image: ImageLayout, tagged: { tag: string; top: LayoutDescriptor }): Promise<void>
  close(): Promise<void>
}

/** Starts an empty registry. */
export async function startRegistry(): Promise<TestRegistry> {
  const program = await findDebianProgram('docker-registry', 'usr/bin/docker-registry')
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-registry-'))
  const host = `127.0.0.1:${await freePort()}`
  const url = `http://${host}`
  const config = {
    version: '0.1',
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(directory, 'images') } },
    http: { addr: host },
  }
  // JSON is valid YAML.
  writeFileSync(join(directory, 'config.yml'), JSON.stringify(config))
  const env = { PATH: process.env['PATH'] ?? '', HOME: directory, OTEL_TRACES_EXPORTER: 'none' }
  const [command = '', ...args] = dieWithParent([program, 'serve', join(directory, 'config.yml')])
  const child = spawnChild(command, args, { env, cwd: directory })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => output.push(text.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  for (let tries = 0; !(await answers(`${url}/v2/`)); tries++) {
    if (tries > 400 || child.exitCode !== null) throw new Error(`The registry did not start:\n${output.join('')}`)
    await pause(50)
  }
  return {
    host,
    url,
    push: async (repository, image, { tag, top }) => {
      const repositoryUrl = `${url}/v2/${repository}`
      for (const [digest, bytes] of image.parts) {
        const type = manifestTypeOf(bytes)
        if (type === null) await pushBlob(repositoryUrl, digest, bytes)
        else await put(`${repositoryUrl}/manifests/${digest}`, bytes, type)
      }
      await put(`${repositoryUrl}/manifests/${tag}`, image.parts.get(top.digest) ?? new Uint8Array(), top.mediaType)
    },
    close: async () => {
      killGroup(child, 'SIGKILL')
      await ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function pushBlob(repositoryUrl: string, digest: string, bytes: Uint8Array): Promise<void> {
  const begun = await fetch(`${repositoryUrl}/blobs/uploads/`, { method: 'POST' })
  const to = new URL(begun.headers.get('location') ?? '', repositoryUrl)
  to.searchParams.set('digest', digest)
  await put(to.href, bytes, 'application/octet-stream')
}

async function put(url: string, bytes: Uint8Array, type: string): Promise<void> {
  const body = new Uint8Array(bytes)
  const answer = await fetch(url, { method: 'PUT', body, headers: { 'content-type': type } })
  if (answer.status !== 201) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
}

/** Returns the media type of a manifest, or null for any other blob. */
function manifestTypeOf(bytes: Uint8Array): string | null {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString()) as { schemaVersion?: number; mediaType?: string }
    return value.schemaVersion === 2 ? (value.mediaType ?? null) : null
  } catch {
    return null
  }
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}

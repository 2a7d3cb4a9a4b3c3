import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChannelKeySet, TokenKeySet } from '../../../shared/auth/keys.ts'

/** A standalone front in its own process. */
export interface FrontProcess {
  url: string
  /** Returns its resident memory, in MB. */
  rssMb(): number
  /** Returns its peak memory since the last call, in MB. */
  peakRssMb(): number
  /** Returns its CPU time so far, in ms. */
  cpuMs(): number
  /** Replaces the channel keys that it reads next. */
  setChannelKeys(keys: ChannelKeySet): void
  close(): Promise<void>
}

/** Starts a front for the agent at `agentUrl`. Resolves once it listens. */
export async function startFrontProcess(options: {
  agentUrl: string
  channelKeys: ChannelKeySet
  tokenKeys: TokenKeySet
  settings?: Record<string, string>
}): Promise<FrontProcess> {
  const directory = mkdtempSync(join(tmpdir(), 'front-'))
  const keys = join(directory, 'keys')
  mkdirSync(keys)
  const setChannelKeys = (set: ChannelKeySet): void => writeFileSync(join(keys, 'channel.json'), JSON.stringify(set))
  setChannelKeys(options.channelKeys)
  writeFileSync(join(keys, 'token-public.json'), JSON.stringify(options.tokenKeys))
  const env = {
    BOXYARD_DATA_DIR: directory,
    BOXYARD_HOST: '127.0.0.1',
    BOXYARD_PORT: '0',
    BOXYARD_AGENT_URL: options.agentUrl,
    BOXYARD_LOG_LEVEL: 'error',
    ...options.settings,
  }
  const child = spawn(process.execPath, [SCRIPT], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const url = await urlOf(child)
  const proc = `/proc/${child.pid}`
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`${proc}/status`, 'utf8'))?.[1]) / 1024
  return {
    url,
    rssMb: () => field('VmRSS'),
    peakRssMb: () => {
      const peak = field('VmHWM')
      writeFileSync(`${proc}/clear_refs`, '5')
      return peak
    },
    cpuMs: () => {
      const fields = readFileSync(`${proc}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return (Number(fields[11]) + Number(fields[12])) * 10
    },
    setChannelKeys,
    close: async () => {
      if (child.exitCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      rmSync(directory, { recursive: true })
    },
  }
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    child.stderr?.on('data', (chunk) => {
      output += String(chunk)
      const ready = /^\{.*"ready":true.*\}$/m.exec(output)
      if (ready) resolve((JSON.parse(ready[0]) as { url: string }).url)
    })
    child.once('exit', () => reject(new Error(`the front has ended: ${output}`)))
  })
}

const SCRIPT = join(import.meta.dirname, '../../../functions/standalone.ts')

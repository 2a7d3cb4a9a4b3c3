import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildFunction } from '../../infra/build.ts'
import { createChannelKeys, createTokenKeys, publicTokenKeys } from '../../shared/auth/keys.ts'
import { percentile, report, summary } from './figures.ts'

/** Measures the size of the function's bundle. Also times its import in a fresh Node.js against an empty handler, alternately. */
export async function benchLambda(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-lambda-'))
  try {
    const bytes = await buildFunction(join(directory, 'dist'))
    report('Lambda bundle', `${(bytes / 1000).toFixed(1)} KB`, '132 KB', bytes <= 132_000)
    const script = join(directory, 'init.mjs')
    writeFileSync(script, INIT)
    writeFileSync(join(directory, 'dist/empty.mjs'), EMPTY)
    const values: number[] = []
    for (let i = 0; i < RUNS; i++) {
      const empty = await timeInit(script, 'empty.mjs')
      values.push((await timeInit(script, 'rest.mjs')) - empty)
    }
    const median = percentile(values, 0.5)
    report('Lambda init above an empty handler', summary(values), '20 ms', median <= 20)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function timeInit(script: string, handler: string): Promise<number> {
  const env = {
    BOXYARD_AGENT_URL: 'http://127.0.0.1:8090',
    BOXYARD_CHANNEL_KEYS: JSON.stringify(CHANNEL_KEYS),
    BOXYARD_TOKEN_KEYS: JSON.stringify(TOKEN_KEYS),
  }
  const { stdout } = await promisify(execFile)(process.execPath, [script, handler], { env })
  return Number(stdout)
}

const RUNS = 30
const CHANNEL_KEYS = createChannelKeys()
const TOKEN_KEYS = publicTokenKeys(createTokenKeys())
const EMPTY = 'export const handler = async () => ({ statusCode: 204 })\n'
const INIT = `const start = performance.now()
await import('./dist/' + process.argv[2])
const end = performance.now()
process.stdout.write(String(end - start))
`

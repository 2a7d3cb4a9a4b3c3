import { setTimeout as sleep } from 'node:timers/promises'
import { runCLI } from 'jest'

export interface FileRequest {
  /** Path from the working directory, which has a `jest.config.mjs`. */
  file: string
  cacheDirectory: string
}

export interface FileResult {
  passed: boolean
  /** True if the file left nothing in this process that could disturb the next file. */
  isClean: boolean
}

/** Runs a test file in this process, which keeps jest loaded. A start of jest takes longer than most files. */
async function runFile({ file, cacheDirectory }: FileRequest): Promise<FileResult> {
  const before = countResources()
  const { results } = await runCLI(
    {
      _: [file],
      $0: '',
      bail: 1,
      cacheDirectory,
      ci: true,
      reporters: [],
      runInBand: true,
      runTestsByPath: true,
      silent: true,
      roots: ['<rootDir>/tests'],
    },
    [process.cwd()],
  )
  const passed = results.success && results.numPassedTests > 0
  // Sockets and processes that a test ends close soon after it.
  for (let turn = 0; turn < SETTLE_TURNS && countResources() > before; turn += 1) await sleep(SETTLE_STEP_MS)
  return { passed, isClean: countResources() <= before && process.memoryUsage().rss < MEMORY_MAX }
}

function countResources(): number {
  return process.getActiveResourcesInfo().length
}

const SETTLE_TURNS = 50
const SETTLE_STEP_MS = 20
const MEMORY_MAX = 1.5e9

process.on('message', (request: FileRequest) => {
  void runFile(request).then((result) => process.send?.(result))
})
process.once('disconnect', () => process.exit())
process.send?.('ready')

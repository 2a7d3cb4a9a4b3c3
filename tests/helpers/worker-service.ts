import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { untilSucceeds } from './eventually.ts'
import type { TestService } from './service.ts'
import { bringToRest, serviceFaultsOf } from './service-rest.ts'
import type { WorkerService } from './shared-service.ts'

/** Creates the service of this worker. It starts when a test file first uses it and closes when jest ends the worker. */
export function createWorkerService(): WorkerService {
  let running: TestService | null = null
  let isUsed = false
  let closesWithWorker = false
  const close = async (): Promise<void> => {
    const closed = running
    running = null
    await closed?.close()
  }
  const discard = async (reason: string, cause: unknown): Promise<never> => {
    const logs = running?.logs.slice(-SHOWN_LINES).map((line) => line.slice(0, SHOWN_CHARACTERS))
    const closing = await close().catch(messageOf)
    throw new Error(
      [reason, messageOf(cause), closing, ...(logs ?? [])].filter((part) => part !== undefined).join('\n'),
    )
  }
  return {
    use: async () => {
      isUsed = true
      if (running === null) {
        // Workers of unit tests never load it.
        const { startService } = await import('./service.ts')
        running = await startService()
        if (!closesWithWorker) closeWithWorker(close)
        closesWithWorker = true
      }
      await checkServes(running).catch((error: unknown) => discard('The shared service does not serve.', error))
      return running
    },
    endFile: async () => {
      const rest = isUsed ? running : null
      isUsed = false
      if (rest === null) return
      const check = checkServes(rest).then(() => bringToRest(rest))
      await check.catch((error: unknown) => discard('The shared service did not come to rest after this file.', error))
    },
    closeUnused: async () => {
      if (!isUsed) await close()
    },
    pids: () => (running === null ? [] : [running.agentPid, running.frontPid]),
  }
}

async function checkServes(service: TestService): Promise<void> {
  for (const [name, pid] of Object.entries({ agent: service.agentPid, front: service.frontPid }))
    if (!existsSync(`/proc/${pid}`)) throw new Error(`Its ${name} has ended.`)
  await untilSucceeds(() => serviceFaultsOf(service), SERVING_MS)
}

/** Calls `close` when jest ends this worker. The listener keeps the worker alive until then (`workerGracefulExitTimeout`). */
function closeWithWorker(close: () => Promise<void>): void {
  const onMessage = ([kind]: readonly unknown[]): void => {
    if (kind !== CHILD_MESSAGE_END) return
    process.removeListener('message', onMessage)
    // The check for leftovers (infra/test.ts) finds this file and fails the run.
    void close().catch((error: unknown) => {
      writeFileSync(join(tmpdir(), `boxyard-not-closed-${process.pid}`), messageOf(error))
    })
  }
  process.on('message', onMessage)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The message with which jest-worker asks a worker to end (its src/types.ts). */
const CHILD_MESSAGE_END = 2
const SHOWN_LINES = 10
const SHOWN_CHARACTERS = 300
/** A running agent and front answer sooner, even on a busy machine. */
const SERVING_MS = 20_000

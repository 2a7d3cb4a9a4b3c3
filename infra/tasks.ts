import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

export interface CheckTask {
  name: string
  command: readonly string[]
  env?: Record<string, string>
}

export interface TaskResult {
  name: string
  isOk: boolean
  output: string
  elapsedMs: number
}

/** Runs all tasks, as many at once as there are cores (at least two). Calls `onEnd` for each, with its whole output. */
export async function runTasks(
  tasks: readonly CheckTask[],
  onEnd: (result: TaskResult) => void,
): Promise<TaskResult[]> {
  const waiting = [...tasks]
  const results: TaskResult[] = []
  const work = async (): Promise<void> => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      const result = await runTask(task)
      results.push(result)
      onEnd(result)
    }
  }
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work))
  return results
}

function runTask(task: CheckTask): Promise<TaskResult> {
  const startedAt = performance.now()
  const [program = '', ...args] = task.command
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...task.env } })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve) => {
    const settle = (isOk: boolean, note: string): void =>
      resolve({
        name: task.name,
        isOk,
        output: Buffer.concat(chunks).toString() + note,
        elapsedMs: performance.now() - startedAt,
      })
    child.once('error', (error) => settle(false, error.message))
    child.once('close', (code) => settle(code === 0, ''))
  })
}

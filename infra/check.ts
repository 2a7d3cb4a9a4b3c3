import { CHECK_TASKS } from './check-tasks.ts'
import { ROOT } from './commands.ts'
import { runTasks } from './tasks.ts'

/** `npm run check` runs all static checks, and needs no network and no root. */
async function main(): Promise<void> {
  process.chdir(ROOT)
  const results = await runTasks(CHECK_TASKS, ({ name, isOk, output, elapsedMs }) => {
    process.stdout.write(`${isOk ? 'ok    ' : 'FAILED'} ${name} (${(elapsedMs / 1000).toFixed(1)} s)\n`)
    if (!isOk) process.stdout.write(`${output.trimEnd().replaceAll(/^/gm, '    ')}\n`)
  })
  const failed = results.filter(({ isOk }) => !isOk).map(({ name }) => name)
  process.stdout.write(failed.length === 0 ? 'check passed\n' : `check failed: ${failed.join(', ')}\n`)
  process.exitCode = failed.length === 0 ? 0 : 1
}

await main()

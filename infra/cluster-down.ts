import { stopCluster } from './cluster/stop.ts'

/** `npm run cluster:down [-- NAME]` stops the cluster and removes everything it created on this host. */
async function main(args: readonly string[]): Promise<void> {
  const name = args[0] ?? 'default'
  const startedAt = performance.now()
  const wasThere = await stopCluster(name)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  process.stdout.write(wasThere ? `Removed the cluster ${name} in ${seconds} s\n` : `There is no cluster ${name}.\n`)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})

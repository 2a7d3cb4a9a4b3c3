import { startCluster } from './cluster/start.ts'

/** `npm run cluster:up [-- NAME]`: starts a real one-node Kubernetes for tests; prints its KUBECONFIG as the last line. */
async function main(args: readonly string[]): Promise<void> {
  const kubeconfig = await startCluster(args[0] ?? 'default', (text) => process.stdout.write(`${text}\n`))
  process.stdout.write(`KUBECONFIG=${kubeconfig}\n`)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})

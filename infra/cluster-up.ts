import { startCluster } from './cluster/start.ts'

/**
 * `npm run cluster:up [-- NAME]`: starts a real one-node Kubernetes, and prints the settings by which `npm run up` has its boxes there,
 * and as the last line the KUBECONFIG of its administrator.
 */
async function main(args: readonly string[]): Promise<void> {
  const { adminKubeconfig, settings } = await startCluster(args[0] ?? 'default', (text) => {
    process.stdout.write(`${text}\n`)
  })
  for (const [name, value] of Object.entries({ ...settings, KUBECONFIG: adminKubeconfig }))
    process.stdout.write(`${name}=${value}\n`)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})

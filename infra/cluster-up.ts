import { startCluster } from './cluster/start.ts'
import { describeUse, readUpRequest } from './cluster/up-request.ts'

/**
 * `npm run cluster:up [-- NAME] [-- --nodes N]`: starts a real Kubernetes, of one node unless told otherwise, and prints the settings by
 * which `npm run up` has its boxes there (of several nodes for each), and as the last line the KUBECONFIG of its administrator.
 */
async function main(args: readonly string[]): Promise<void> {
  const { name, nodeCount } = readUpRequest(args)
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const cluster = await startCluster(name, print, nodeCount)
  for (const line of describeUse(cluster)) print(line)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})

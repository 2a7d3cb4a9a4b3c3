import { startCluster } from './cluster/start.ts'
import { describeUse, readUpRequest } from './cluster/up-request.ts'

/**
 * `npm run cluster:up [-- NAME] [-- --nodes N]` starts a real Kubernetes, by default with one node. It prints the settings with which `npm
 * run up` runs its boxes there, for each node of several. The last line is the KUBECONFIG of its administrator.
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

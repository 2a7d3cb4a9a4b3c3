import { type BenchContext, boxPath } from './context.ts'
import { percentile, report, summary, timeEach } from './figures.ts'

/** Times deploys of a service in forks of a running box with a 5 GB root. Its server listens at once. */
export async function benchForkDeploys({ client }: BenchContext, box: string): Promise<void> {
  const service = `${boxPath(box)}/services/web`
  const command = ['/bin/sh', '-c', 'exec httpd -f -p $PORT -h /root']
  await client.put(service, { command, port: 8080, readiness: { tcp: true }, grace_seconds: 1 })
  const times = await timeEach(ROUNDS, async () => {
    const { body } = await client.post(`${service}/deploy`, { isolation: 'fork' })
    if (body.preview?.state !== 'running') throw new Error(`the preview is not ready: ${JSON.stringify(body)}`)
  })
  await client.delete(service)
  const half = percentile(times, 0.5)
  report('deploy, isolation fork, of a 5 GB box → ready', summary(times), '250 ms', half <= 250)
}

const ROUNDS = 20

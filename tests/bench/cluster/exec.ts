import { createBox } from '../context.ts'
import { percentile, report, summary, timeOnce } from '../figures.ts'
import { type ClusterBench, execTrue, startClusterService } from './service.ts'

/** Times commands in a running box, one after another, alternating with pods/exec on an open connection. */
export async function benchClusterExec(bench: ClusterBench): Promise<void> {
  const { peer } = bench
  const ours: number[] = []
  const theirs: number[] = []
  const at = await startClusterService(bench)
  try {
    await createBox(at.client, 'exec')
    await peer.createAndStart('bench-exec')
    for (let i = -WARM_UP; i < ROUNDS; i++) {
      const our = await timeOnce(() => execTrue(at.client, 'exec'))
      // pods/exec turns its connection into a WebSocket, so each call needs a new one.
      await peer.connect()
      const their = await timeOnce(() => peer.exec('bench-exec'))
      if (i < 0) continue
      ours.push(our)
      theirs.push(their)
    }
    await peer.remove('bench-exec')
  } finally {
    await at.close()
  }
  const ratio = percentile(ours, 0.5) / percentile(theirs, 0.5)
  report('cluster: exec true', summary(ours), 'told', true)
  report('bare API: pods/exec true', `${summary(theirs)}; ours ${ratio.toFixed(2)}×`, '≤ 1.1×', ratio <= 1.1)
}

const ROUNDS = 200
const WARM_UP = 5

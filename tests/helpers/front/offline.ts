import { dieWithParent, ROOT } from '../../../infra/commands.ts'
import { startLoggingChild } from '../../../infra/logging-child.ts'
import { stopChild } from '../../../infra/service-process.ts'
import { freePort } from '../service.ts'

/** The functions under serverless-offline. */
export interface Offline {
  url: string
  /** Lines of its output. */
  said: readonly string[]
  close(): Promise<void>
}

/** Starts `npm run offline` on its own ports. The settings name an agent's address, and a data directory with its keys. */
export async function startOffline(settings: NodeJS.ProcessEnv): Promise<Offline> {
  const [port, lambdaPort] = [await freePort(), await freePort()]
  const script = [`${ROOT}/infra/offline.ts`, '--port', String(port), '--lambda-port', String(lambdaPort)]
  const said: string[] = []
  const isReady = Promise.withResolvers<undefined>()
  const child = startLoggingChild({
    command: dieWithParent([process.execPath, ...script]),
    env: { ...process.env, ...settings, NODE_OPTIONS: '' },
    onLine: (line) => {
      said.push(line)
      if (line.includes('Server ready')) isReady.resolve(undefined)
    },
  })
  void child.exited.then((how) => isReady.reject(new Error(`serverless-offline: ${how}\n${said.join('\n')}`)))
  await isReady.promise
  return { url: `http://127.0.0.1:${port}`, said, close: async () => void (await stopChild(child, 20_000)) }
}

import { request, WebSocket } from 'undici'
import type { KubeAccess } from '../../../agent/lib/kube/credentials.ts'
import { BUSYBOX_IMAGE } from '../../../infra/cluster/container-images.ts'
import { watchPods } from './pods.ts'

/** The bare API of a cluster, used as efficiently as a client without Boxyard can. */
export interface KubePeer {
  /** Creates a busybox pod under the default runtime, optionally in a user namespace, and waits until its container runs. */
  createAndStart(name: string, options?: { ownUsers: boolean }): Promise<void>
  /** Runs `true` in a pod and waits for its exit code. */
  exec(name: string): Promise<void>
  /** Opens a connection for the next request. */
  connect(): Promise<void>
  /** Deletes a pod, and waits until it is gone. */
  remove(name: string): Promise<void>
  /** Deletes all remaining pods of this run. */
  close(): Promise<void>
}

/** Connects to a cluster, with kept-alive connections and a watch of the pods. */
export async function openKubePeer(access: KubeAccess): Promise<KubePeer> {
  const call = createCall(access)
  const view = await watchPods(access, NAMESPACE, `${LABEL}=${RUN}`)
  return {
    createAndStart: async (name, options) => {
      await call('POST', PODS, podOf(name, options?.ownUsers ?? false))
      await view.until(`pod ${name} runs`, (pods) => pods.some((pod) => pod.name === name && pod.isRunning))
    },
    exec: (name) => execTrue(access, name),
    connect: async () => void (await call('GET', '/version')),
    remove: async (name) => {
      await call('DELETE', `${PODS}/${name}`, { gracePeriodSeconds: 1 })
      await view.until(`pod ${name} is gone`, (pods) => pods.every((pod) => pod.name !== name))
    },
    close: async () => {
      await call('DELETE', `${PODS}?labelSelector=${LABEL}%3D${RUN}`, { gracePeriodSeconds: 0 })
      await view.until('all pods are gone', (pods) => pods.length === 0)
      view.close()
    },
  }
}

type Call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) => Promise<string>

function createCall({ server, dispatcher, headers }: KubeAccess): Call {
  return async (method, path, body) => {
    const answer = await request(`${server}${path}`, {
      method,
      dispatcher,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 400) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`)
    return text
  }
}

/** Runs `true` over its own WebSocket. The API reports an exit code in no other way. */
function execTrue({ server, dispatcher, headers }: KubeAccess, name: string): Promise<void> {
  const url = `${server.replace(/^http/, 'ws')}${PODS}/${name}/exec?command=true&stdout=true&stderr=true`
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { protocols: ['v5.channel.k8s.io'], dispatcher, headers })
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('message', ({ data }) => {
      const [channel, ...bytes] = Buffer.from(data as ArrayBuffer)
      if (channel !== STATUS_CHANNEL) return
      const text = Buffer.from(bytes).toString('utf8')
      const { status } = JSON.parse(text) as { status: string }
      if (status === 'Success') resolve()
      else reject(new Error(`exec in ${name}: ${text}`))
      socket.close()
    })
    socket.addEventListener('error', ({ message }) => reject(new Error(`exec in ${name}: ${message}`)))
    socket.addEventListener('close', () => reject(new Error(`exec in ${name}: closed without a status`)))
  })
}

// Has the limits of a box, but no runtime class, which is the least work for a node.
function podOf(name: string, ownUsers: boolean): object {
  const resources = { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '1', memory: '512Mi' } }
  const main = { name: 'main', image: BUSYBOX_IMAGE, imagePullPolicy: 'IfNotPresent', resources }
  return {
    metadata: { name, labels: { [LABEL]: RUN } },
    spec: {
      hostUsers: !ownUsers,
      restartPolicy: 'Never',
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      containers: [{ ...main, command: ['sleep', '1000000'] }],
    },
  }
}

const NAMESPACE = 'default'
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`
const LABEL = 'boxyard-bench'
const RUN = `run-${process.pid}`
const STATUS_CHANNEL = 3

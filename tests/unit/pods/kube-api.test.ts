import { renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { projectPolicy } from '../../../agent/drivers/pods/spec.ts'
import { openKubeApi } from '../../../agent/lib/kube/api.ts'
import { KubeError } from '../../../agent/lib/kube/errors.ts'
import {
  type FaultyKube,
  sendJson,
  sendStatus,
  startFaultyKube,
  writeKubeconfig,
} from '../../helpers/pods/faulty-kube.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

let kube: FaultyKube

beforeEach(async () => {
  kube = await startFaultyKube()
})

afterEach(() => kube.close())

const POD = { metadata: { name: 'a', uid: 'u1', resourceVersion: '5' }, spec: { containers: [] } }
const codes = () => kube.api.faults().map(({ code }) => code)
const failureOf = async (call: Promise<unknown>): Promise<KubeError> => {
  const error: unknown = await call.catch((reason: unknown) => reason)
  if (!(error instanceof KubeError)) throw new Error(`not a failure of the API: ${inspect(error)}`)
  return error
}

describe('a server that does not answer', () => {
  test('makes a call fail after some attempts, and is reported until it answers again', async () => {
    await kube.cut()
    const error = await failureOf(kube.api.pods.get('a'))
    expect(error).toMatchObject({ code: 'runtime_unavailable', reason: 'unreachable' })
    expect(error.message).toBe("The cluster's API server does not answer.")
    expect(kube.api.requestCount()).toBe(3)
    expect(kube.api.faults()).toMatchObject([
      { code: 'kubernetes_unreachable', evidence: "The cluster's API server does not answer (ECONNREFUSED)." },
    ])
    await kube.listen()
    await expect(kube.api.pods.get('a')).resolves.toBeNull()
    expect(codes()).toEqual([])
  })

  test('has no effect if it answers the second attempt', async () => {
    kube.answer((_request, response) =>
      kube.requests.length === 1 ? response.destroy() : sendJson(response, { items: [POD] }),
    )
    expect(await kube.api.pods.list('x=y')).toHaveLength(1)
    kube.answer((_request, response) => {
      if (kube.requests.length > 3) return sendJson(response, POD)
      response.setHeader('retry-after', '0')
      sendStatus(response, 429, 'TooManyRequests')
    })
    await expect(kube.api.pods.get('a')).resolves.toMatchObject(POD)
    expect(kube.requests).toHaveLength(4)
    expect(codes()).toEqual([])
  })

  test('is given up at the deadline, without another attempt', async () => {
    kube.answer(() => undefined)
    const error = await failureOf(kube.api.nodes({ deadlineMs: 100 }))
    expect(error.reason).toBe('unreachable')
    expect(kube.requests).toHaveLength(1)
    expect(kube.api.faults()[0]?.evidence).toBe("The cluster's API server does not answer in time.")
  })
})

describe('an object of the API', () => {
  const creationTimestamp = '2026-01-01T00:00:00Z'
  const metadata = { name: 'n1', creationTimestamp }

  test('is returned without its long unused fields', async () => {
    const managed = { ...metadata, managedFields: [{ manager: 'kubelet' }] }
    const node = { metadata: managed, status: { capacity: { cpu: '2' }, images: [{ names: ['x'] }] } }
    kube.answer((_request, response) => sendJson(response, { metadata: { resourceVersion: '9' }, items: [node] }))
    expect(await kube.api.nodes()).toEqual([{ metadata, status: { capacity: { cpu: '2' } } }])
  })

  test('is returned with unknown fields', async () => {
    kube.answer((_request, response) => sendJson(response, { ...POD, spec: { containers: [], newer: { _from: 1 } } }))
    await expect(kube.api.pods.get('a')).resolves.toHaveProperty('spec.newer', { _from: 1 })
  })
})

test('of a policy is sent in the form of the API', async () => {
  kube.answer((_request, response) => sendJson(response, {}))
  await kube.api.networkPolicies.apply(projectPolicy('p', 'i'))
  const { method, path, body } = kube.requests[0] ?? {}
  expect([method, path]).toEqual(['PATCH', '/apis/networking.k8s.io/v1/namespaces/boxes/networkpolicies/project-p-i'])
  expect(body.spec.ingress).toEqual([{ from: [{ podSelector: body.spec.podSelector }] }])
})

describe('a pod that is created', () => {
  test('is returned if only the answer was lost', async () => {
    let made: unknown = null
    kube.answer(({ method, body }, response) => {
      if (method === 'GET') return sendJson(response, made)
      if (made !== null) return sendStatus(response, 409, 'AlreadyExists')
      made = body
      response.destroy()
    })
    const pod = await kube.api.pods.create(POD)
    expect(pod.metadata?.name).toBe('a')
    expect(kube.requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'GET'])
    expect(kube.requests[0]?.query.get('fieldValidation')).toBe('Strict')
  })

  test('is distinguished from an earlier one', async () => {
    kube.answer(({ method }, response) =>
      method === 'GET' ? sendJson(response, POD) : sendStatus(response, 409, 'AlreadyExists'),
    )
    expect((await failureOf(kube.api.pods.create(POD))).reason).toBe('exists')
  })
})

describe('a storm of conflicts', () => {
  const storm = (count: number): void =>
    kube.answer((_request, response) =>
      kube.requests.length <= count ? sendStatus(response, 409, 'Conflict') : sendJson(response, POD),
    )

  test('is outlasted by a change without a version', async () => {
    storm(5)
    await expect(kube.api.pods.patch('a', { metadata: { labels: { a: 'b' } } })).resolves.toMatchObject(POD)
    expect(kube.requests).toHaveLength(6)
  })

  test('is given up after some time', async () => {
    storm(1000)
    const error = await failureOf(kube.api.pods.resize('a', { spec: {} }))
    expect(error).toMatchObject({ reason: 'conflict', code: 'runtime_unavailable' })
    expect(kube.requests).toHaveLength(8)
  })

  test('ends a change with a version at once', async () => {
    storm(1000)
    expect((await failureOf(kube.api.pods.patch('a', { metadata: { resourceVersion: '4' } }))).reason).toBe('conflict')
    expect(kube.requests).toHaveLength(1)
  })

  test('on another pod of that name counts as deleted', async () => {
    kube.answer(({ method }, response) =>
      method === 'GET' ? sendJson(response, POD) : sendStatus(response, 409, 'Conflict'),
    )
    await kube.api.pods.delete('a', { uid: 'u0' })
    expect(kube.requests[0]?.body).toEqual({ preconditions: { uid: 'u0' } })
    expect((await failureOf(kube.api.pods.delete('a', { uid: 'u1' }))).reason).toBe('conflict')
  })
})

describe('a refusal', () => {
  const refuse = (allowed: boolean, message: string): void =>
    kube.answer(({ path }, response) =>
      path.endsWith('/selfsubjectaccessreviews')
        ? sendJson(response, { status: { allowed } }, 201)
        : sendStatus(response, 403, 'Forbidden', message),
    )

  test('for lack of a verb names verb, resource and namespace', async () => {
    refuse(false, 'pods is forbidden')
    const error = await failureOf(kube.api.pods.resize('a', {}))
    expect(error).toMatchObject({ code: 'runtime_unavailable', reason: 'forbidden' })
    expect(error.message).toBe(
      'The agent is not allowed to patch pods/resize in namespace "boxes". Grant it to its ServiceAccount.',
    )
    expect(kube.requests[1]?.body.spec.resourceAttributes).toEqual({
      namespace: 'boxes',
      verb: 'patch',
      group: '',
      resource: 'pods',
      subresource: 'resize',
    })
    expect(codes()).toEqual(['kubernetes_forbidden'])
  })

  test('is predicted by a review, and dropped once the review allows it', async () => {
    const answerFor = (verbs: readonly string[]) =>
      kube.answer(({ body }, response) => {
        sendJson(response, { status: { allowed: verbs.includes(body.spec.resourceAttributes.verb) } }, 201)
      })
    answerFor(['create'])
    expect((await failureOf(kube.api.checkAllowed())).message).toBe(
      'The agent is not allowed to delete pods in namespace "boxes". Grant it to its ServiceAccount.',
    )
    expect(codes()).toEqual(['kubernetes_forbidden'])
    answerFor(['create', 'delete'])
    await kube.api.checkAllowed()
    expect(codes()).toEqual([])
  })

  test('of a read needs no question', async () => {
    refuse(true, 'nodes is forbidden')
    expect((await failureOf(kube.api.nodes())).message).toBe(
      'The agent is not allowed to list nodes. Grant it to its ServiceAccount.',
    )
    expect(kube.requests).toHaveLength(1)
  })

  test.each([
    ['pods "a" is forbidden: exceeded quota: q, requested: pods=1', 'quota', 'quota_exceeded', 'kubernetes_quota'],
    ['pod rejected: RuntimeClass "boxyard" not found', 'refused', 'runtime_unavailable', 'kubernetes_runtime_class'],
    ['violates PodSecurity "baseline:latest"', 'refused', 'runtime_unavailable', 'kubernetes_refused'],
  ])('by a rule of the cluster is not a missing verb: %s', async (message, reason, code, fault) => {
    refuse(true, message)
    expect(await failureOf(kube.api.pods.create(POD))).toMatchObject({ reason, code })
    expect(codes()).toEqual([fault])
  })

  test('by a policy that cannot be evaluated is no fault of the object', async () => {
    const message = "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy"
    kube.answer((_request, response) => sendStatus(response, 422, 'Invalid', message))
    const error = await failureOf(kube.api.objects('Home').create('box.demo.web', {}))
    expect(error).toMatchObject({ reason: 'refused', code: 'runtime_unavailable' })
    expect(error.message).toBe('A rule of the cluster refuses a change of homes. The health report names it.')
  })

  test('is dropped once a similar call is answered, even with a missing pod', async () => {
    refuse(true, 'pods is forbidden')
    await failureOf(kube.api.pods.get('a'))
    expect(codes()).toEqual(['kubernetes_forbidden'])
    kube.answer((_request, response) => sendStatus(response, 404, 'NotFound'))
    await expect(kube.api.pods.get('a')).resolves.toBeNull()
    expect(codes()).toEqual([])
  })

  test('is dropped with the first success of a similar call', async () => {
    refuse(true, 'violates PodSecurity')
    await failureOf(kube.api.pods.create(POD))
    kube.answer((_request, response) => sendJson(response, POD))
    await kube.api.pods.get('a')
    expect(codes()).toEqual(['kubernetes_refused'])
    await kube.api.pods.create(POD)
    expect(codes()).toEqual([])
  })
})

describe('credentials', () => {
  const accept = (token: string): void =>
    kube.answer((request, response) =>
      request.token === token ? sendJson(response, POD) : sendStatus(response, 401, 'Unauthorized'),
    )

  test('that have expired are reported, and their replacements are used', async () => {
    accept('next')
    expect(await failureOf(kube.api.pods.get('a'))).toMatchObject({
      code: 'runtime_unavailable',
      reason: 'credentials',
    })
    expect(codes()).toEqual(['kubernetes_credentials'])
    writeKubeconfig(kube.kubeconfig, kube.port(), { token: 'next' })
    await expect(kube.api.pods.get('a')).resolves.toMatchObject(POD)
    expect(codes()).toEqual([])
  })

  test('of a token file follow that file', async () => {
    const tokenFile = join(dirname(kube.kubeconfig), 'token')
    const write = (token: string): void => {
      writeFileSync(`${tokenFile}.new`, `${token}\n`)
      renameSync(`${tokenFile}.new`, tokenFile)
    }
    write('first')
    writeKubeconfig(kube.kubeconfig, kube.port(), { tokenFile: 'token' })
    accept('first')
    await expect(kube.api.pods.get('a')).resolves.toMatchObject(POD)
    write('second')
    accept('second')
    await expect(kube.api.pods.get('a')).resolves.toMatchObject(POD)
  })

  test('stay in use while the kubeconfig is missing or broken', async () => {
    accept('secret-token')
    writeFileSync(kube.kubeconfig, 'users: [')
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await expect(kube.api.pods.get('a')).resolves.toMatchObject(POD)
  })

  test('are in no error', async () => {
    accept('another')
    const refused = await failureOf(kube.api.pods.get('a'))
    await kube.cut()
    const unreachable = await failureOf(kube.api.pods.get('a'))
    writeFileSync(kube.kubeconfig, 'users:\n  - user: {token: secret-token]\n')
    const settings = { kubeconfig: kube.kubeconfig, namespace: 'boxes', logger: silentLogger, now: Date.now }
    const unusable: unknown = await openKubeApi(settings).catch((error: unknown) => error)
    expect(unusable).toMatchObject({ code: 'runtime_unavailable' })
    for (const error of [refused, unreachable, unusable]) {
      expect(inspect(error, { depth: null, showHidden: true })).not.toContain('secret-token')
    }
  })
})

import { createHash, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from '@jest/globals'
import { parseImageReference } from '../../../agent/core/bases/image-reference.ts'
import { createImageRegistry } from '../../../agent/drivers/registry/image-registry.ts'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { type ImageLayout, type LayoutDescriptor, newImage } from '../../helpers/bases/image-archive.ts'
import { type Script, type ScriptedRegistry, startScriptedRegistry } from '../../helpers/bases/scripted-registry.ts'

const opened: ScriptedRegistry[] = []
afterEach(async () => {
  for (const registry of opened.splice(0)) await registry.close()
})

const image = newImage()
const layer = image.addLayer(tarOf([{ name: 'bin/sh', body: randomBytes(300_000) }]), 'tar')
const top = image.addManifest([layer])
const LAYER = `/v2/it/blobs/${layer.digest}`
const bytes = Buffer.from(image.parts.get(layer.digest) ?? '')

async function open(
  script?: Script,
  what: { image: ImageLayout; top: LayoutDescriptor } = { image, top },
): Promise<ScriptedRegistry> {
  const registry = await startScriptedRegistry(what, script)
  opened.push(registry)
  return registry
}

/** Timeouts for registries that stall or are slow. Other registries get the product's timeouts. */
const QUICK = { connectMs: 5_000, silenceMs: 1_500, answerMs: 4_000, paceMs: 500, paceBytes: 100_000 }

interface Pull {
  reference?: string
  named?: string[]
  times?: typeof QUICK
  signal?: AbortSignal
}

/** Pulls an image, and returns its size in bytes. */
async function pull(registry: ScriptedRegistry, options: Pull = {}): Promise<number> {
  const { reference = `${registry.host}/it:1`, named = [registry.url], times } = options
  const images = createImageRegistry({ named, now: Date.now, ...(times && { times }) })
  const { signal = new AbortController().signal } = options
  const wish = { architecture: 'amd64', maxBytes: 1e9, signal }
  const found = await images.find(parseImageReference(reference), wish)
  try {
    let count = 0
    for await (const piece of found.archive()) count += piece.length
    return count
  } finally {
    found.close()
  }
}

const invalid = (why: string) => ({
  code: 'invalid_request',
  errors: [{ pointer: '/image', detail: expect.stringContaining(why) }],
})
const AWAY = { code: 'internal', message: expect.stringContaining('did not answer, or closed the connection') }
const redirectTo =
  (path: string, to: () => string): Script =>
  (asked, _request, response) => {
    if (asked !== path) return false
    response.writeHead(307, { location: to() }).end()
    return true
  }
const answering = (
  path: string,
  answer: (response: ServerResponse, count: number, range: string | undefined) => void,
): Script => {
  let count = 0
  return (asked, request, response) => {
    if (asked !== path) return false
    answer(response, ++count, request.headers.range)
    return true
  }
}

test('a good image is fetched', async () => {
  expect(await pull(await open())).toBeGreaterThan(bytes.length)
})

describe('an address that is not public is not contacted', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '127.1', '0x7f.1'])(
    'as the registry itself: %s',
    async (host) => {
      const registry = await open()
      const reference = `${host}:${registry.host.split(':')[1]}/it:1`
      const named = ['https://127.0.0.1', 'http://registry.example.org']
      await expect(pull(registry, { reference, named })).rejects.toMatchObject(invalid('not public'))
      expect(registry.connections()).toBe(0)
    },
  )

  test.each([
    'https://127.0.0.1',
    'https://localhost',
    'https://0x7f000001',
    'https://2130706433',
    'https://127.0.0.1.',
  ])('by a redirect to %s, for the manifest or a layer', async (origin) => {
    const inner = await open()
    const to = () => `${origin}:${inner.host.split(':')[1]}/v2/it/secret`
    for (const path of ['/v2/it/manifests/1', LAYER]) {
      await expect(pull(await open(redirectTo(path, to)))).rejects.toMatchObject(invalid('not public'))
    }
    expect(inner.connections()).toBe(0)
  })

  test.each([
    ['http://127.0.0.1', 'without encryption'],
    ['http://registry.example.org', 'without encryption'],
    ['https://user:password@registry.example.org', 'with a password'],
    ['file:///etc/passwd#', 'without encryption'],
    ['https://169.254.169.254', 'not public'],
    ['//169.254.169.254', 'without encryption'],
  ])('by a redirect to %s', async (origin, why) => {
    const inner = await open()
    const port = inner.host.split(':')[1]
    const redirect = redirectTo(LAYER, () => (origin.endsWith('#') ? origin : `${origin}:${port}/`))
    await expect(pull(await open(redirect))).rejects.toMatchObject(invalid(why))
    expect(inner.connections()).toBe(0)
  })

  test.each(['https://127.0.0.1', 'http://127.0.0.1', 'https://localhost'])(
    'as the realm of tokens: %s',
    async (origin) => {
      const inner = await open()
      const registry = await open((_path, _request, response) => {
        const realm = `${origin}:${inner.host.split(':')[1]}/token`
        response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}"` }).end()
        return true
      })
      await expect(pull(registry)).rejects.toMatchObject({ code: 'invalid_request' })
      expect(inner.connections()).toBe(0)
    },
  )

  test('unless the operator has named it', async () => {
    const inner = await open()
    const registry = await open(redirectTo(LAYER, () => `${inner.url}${LAYER}`))
    expect(await pull(registry, { named: [registry.url, inner.url] })).toBeGreaterThan(bytes.length)
    expect(inner.asked).toEqual([LAYER])
  })
})

test('endless redirects are given up', async () => {
  const registry = await open(redirectTo(LAYER, () => LAYER))
  await expect(pull(registry)).rejects.toMatchObject(invalid('redirects too often'))
  expect(registry.asked.filter((path) => path === LAYER)).toHaveLength(6)
})

describe('a token', () => {
  const withToken =
    (isGood: (token: string | undefined, path: string) => boolean): Script =>
    (path, request, response) => {
      if (path.startsWith('/token')) {
        response.end(JSON.stringify({ token: `t${path.length}` }))
        return true
      }
      if (isGood(request.headers.authorization, path)) return false
      const realm = `http://${request.headers.host}/token`
      response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="it"` }).end('x'.repeat(100))
      return true
    }

  test('is fetched without credentials if the registry wants one, and again once it is refused', async () => {
    let isOver = false
    const registry = await open(
      withToken((token, path) => {
        const isFirst = path === LAYER && !isOver
        if (isFirst) isOver = true
        return token !== undefined && !isFirst
      }),
    )
    expect(await pull(registry)).toBeGreaterThan(bytes.length)
    const tokens = registry.asked.filter((path) => path.startsWith('/token'))
    expect(tokens).toEqual(Array(2).fill('/token?service=it&scope=repository%3Ait%3Apull'))
  })

  test('goes to the registry only, not to the targets of redirects', async () => {
    const told: (string | undefined)[] = []
    const store = await open((_path, request) => {
      told.push(request.headers.authorization)
      return false
    })
    const give = withToken((token) => token !== undefined)
    const registry = await open((path, request, response) => {
      const isOver = redirectTo(LAYER, () => `${store.url}${LAYER}`)(path, request, response)
      return isOver || give(path, request, response)
    })
    await pull(registry, { named: [registry.url, store.url] })
    expect(told).toEqual([undefined])
  })

  test('that is refused again, or demanded in another way, ends the pull', async () => {
    for (const header of ['Basic realm="x"', 'Bearer realm="nowhere"', '']) {
      const registry = await open((_path, _request, response) => {
        response.writeHead(401, header === '' ? {} : { 'www-authenticate': header }).end()
        return true
      })
      await expect(pull(registry)).rejects.toMatchObject({ code: 'invalid_request' })
    }
    const never = await open(withToken(() => false))
    await expect(pull(never)).rejects.toMatchObject(invalid('does not offer it without a login'))
    expect(never.asked).toHaveLength(3)
  })

  test('that never ends is not read to its end', async () => {
    const registry = await open((path, request, response) => {
      if (path.startsWith('/token')) return endless(response)
      return withToken(() => false)(path, request, response)
    })
    await expect(pull(registry)).rejects.toMatchObject(invalid('more than 65536 bytes'))
  })
})

function endless(response: ServerResponse): true {
  const piece = Buffer.alloc(64 * 1024, 'x')
  const write = (): void => {
    while (!response.destroyed && response.write(piece)) continue
  }
  response.writeHead(200).on('drain', write)
  write()
  return true
}

describe('content with a wrong digest is refused', () => {
  test('a layer', async () => {
    const altered = Buffer.from(bytes)
    altered[1000] = (altered[1000] ?? 0) ^ 1
    const registry = await open(answering(LAYER, (response) => response.end(altered)))
    await expect(pull(registry)).rejects.toMatchObject(invalid('does not match the digests of the image'))
  })

  test('a layer without end, as soon as it is too long', async () => {
    const registry = await open(answering(LAYER, endless))
    await expect(pull(registry)).rejects.toMatchObject(invalid('does not match the digests of the image'))
  })

  test('a layer with a larger declared length, before it is read', async () => {
    const registry = await open(
      answering(LAYER, (response) => response.writeHead(200, { 'content-length': 1e12 }).flushHeaders()),
    )
    await expect(pull(registry)).rejects.toMatchObject(invalid('does not match the digests of the image'))
  })

  test('a manifest', async () => {
    const digest = `sha256:${createHash('sha256').update('other').digest('hex')}`
    const registry = await open(
      answering(`/v2/it/manifests/${digest}`, (response) => response.end(image.parts.get(top.digest))),
    )
    const reference = `${registry.host}/it@${digest}`
    await expect(pull(registry, { reference })).rejects.toMatchObject(invalid('does not match its digest'))
  })
})

describe('a failing registry', () => {
  test.each([500, 502, 503])('answering %i is reported', async (status) => {
    const registry = await open((_path, _request, response) => {
      response.writeHead(status).end('an internal detail')
      return true
    })
    await expect(pull(registry)).rejects.toMatchObject(AWAY)
  })

  test('limiting the rate is waited for', async () => {
    const registry = await open(answering(LAYER, (response) => response.writeHead(429).end()))
    await expect(pull(registry)).rejects.toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '60' } })
  })

  test('refusing connections is reported', async () => {
    const registry = await open()
    await registry.close()
    await expect(pull(registry)).rejects.toMatchObject(AWAY)
  })

  test.each([
    ['before its answer', () => undefined],
    ['in the middle', (response: ServerResponse) => response.writeHead(200).write(bytes.subarray(0, 1000))],
  ])('falling silent %s is given up', async (_when, answer) => {
    const registry = await open(answering(LAYER, (response) => void answer(response)))
    await expect(pull(registry, { times: QUICK })).rejects.toMatchObject(AWAY)
  })

  test.each([LAYER, '/v2/it/manifests/1'])('in that %s comes byte by byte is left', async (path) => {
    const registry = await open(
      answering(path, (response) => {
        let at = 0
        const timer = setInterval(() => response.write(bytes.subarray(at, ++at)), 20)
        response.writeHead(200).on('close', () => clearInterval(timer))
      }),
    )
    await expect(pull(registry, { times: QUICK })).rejects.toMatchObject(AWAY)
  })
})

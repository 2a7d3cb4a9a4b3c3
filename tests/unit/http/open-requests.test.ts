import { describe, expect, test } from '@jest/globals'
import { bytesUntilEnded, OpenRequests, untilEnded } from '../../../agent/server/open-requests.ts'
import { ServiceError } from '../../../shared/errors.ts'

const REVOKED = new ServiceError('token_revoked', 'The token was revoked.')

function makeRegister(): { register: OpenRequests; revoked: Set<string>; broken: Set<string>; at: { now: number } } {
  const [revoked, broken, at] = [new Set<string>(), new Set<string>(), { now: 0 }]
  const checkAlive = async (id: string): Promise<void> => {
    if (broken.has(id)) throw new Error('the database is away')
    if (revoked.has(id)) throw REVOKED
  }
  return { register: new OpenRequests({ clock: { now: () => at.now }, checkAlive }), revoked, broken, at }
}

describe('the register of open requests', () => {
  test('ends those of revoked tokens, and no others, also where another token cannot be checked', async () => {
    const { register, revoked, broken } = makeRegister()
    const open = (tokenId: string): ReturnType<OpenRequests['open']> => register.open({ tokenId, expiresAt: null })
    const [first, second, other, away] = [open('a'), open('a'), open('b'), open('c')]
    const closed = open('a')
    closed.close()
    revoked.add('a')
    broken.add('c')
    await expect(register.endRevoked()).rejects.toThrow('the database is away')
    expect([first, second, other, away, closed].map(({ signal }) => signal.aborted)).toEqual([
      ...[true, true, false, false, false],
    ])
    expect(first.signal.reason).toBe(REVOKED)
  })

  test('ends each when its token expires', () => {
    const { register, at } = makeRegister()
    const open = (expiresAt: number | null): ReturnType<OpenRequests['open']> =>
      register.open({ tokenId: 'a', expiresAt })
    const [soon, later, never] = [open(10), open(20), open(null)]
    const ended = (): boolean[] => [soon, later, never].map(({ signal }) => signal.aborted)
    at.now = 9
    register.endExpired()
    expect(ended()).toEqual([false, false, false])
    at.now = 10
    register.endExpired()
    expect(ended()).toEqual([true, false, false])
    expect(soon.signal.reason).toMatchObject({ code: 'token_expired' })
    at.now = 20
    register.endExpired()
    expect(ended()).toEqual([true, true, false])
  })

  test('forgets what was closed, once, also while another of the token stays', () => {
    const { register } = makeRegister()
    const [one, two] = [1, 2].map(() => register.open({ tokenId: 'a', expiresAt: null }))
    one?.close()
    one?.close()
    expect(register.size).toBe(1)
    two?.close()
    const again = register.open({ tokenId: 'a', expiresAt: null })
    two?.close()
    expect(register.size).toBe(1)
    again.close()
    expect(register.size).toBe(0)
  })
})

describe('bytes of an open request', () => {
  async function* slowly(onReturn: () => void): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from('a')
      await new Promise(() => undefined)
    } finally {
      onReturn()
    }
  }

  test('break off with the reason, also while the next are waited for', async () => {
    const end = new AbortController()
    let ends = 0
    const bytes = bytesUntilEnded(
      slowly(() => undefined),
      end.signal,
      () => ends++,
    )
    expect((await bytes.next()).value?.toString()).toBe('a')
    const next = bytes.next()
    end.abort(REVOKED)
    await expect(next).rejects.toBe(REVOKED)
    expect(ends).toBeGreaterThan(0)
  })

  test('tell of their end where the reader leaves before it reads', async () => {
    let ends = 0
    await bytesUntilEnded(
      slowly(() => undefined),
      new AbortController().signal,
      () => ends++,
    ).return?.()
    expect(ends).toBe(1)
  })

  test('pass as they are', async () => {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a')
      yield Buffer.from('b')
    }
    const got: string[] = []
    for await (const piece of bytesUntilEnded(pieces(), new AbortController().signal)) got.push(String(piece))
    expect(got).toEqual(['a', 'b'])
  })

  test('a wait ends at once where the token had ended before', async () => {
    await expect(untilEnded(AbortSignal.abort(REVOKED), new Promise(() => undefined))).rejects.toBe(REVOKED)
    await expect(untilEnded(new AbortController().signal, Promise.resolve(7))).resolves.toBe(7)
  })
})

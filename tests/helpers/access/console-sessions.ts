import { expect } from '@jest/globals'
import { judgeSession } from '../../../shared/auth/session.ts'
import type { Answer, Client } from '../front/client.ts'

/** State that a page and its browser keep after a sign-in. */
export interface ConsoleSession {
  headers: { 'x-boxyard-session': string; cookie: string }
  token: { id: string; name: string; projects: unknown; permissions: string[]; expires_at: string }
  answer: Answer
}

interface SignInOptions {
  token?: string | null
  path?: string
  origin?: string
  headers?: Record<string, string>
}

/** Signs in to the console as its page does. */
export interface ConsoleSessions {
  /** Session halves, link tickets and tokens created so far. */
  secrets: string[]
  signIn(options?: SignInOptions): Promise<ConsoleSession>
  /** Creates a sign-in link and returns its ticket. */
  link(token?: string): Promise<string>
  /** Creates a token for the project `pages`. */
  mint(body: Record<string, unknown>): Promise<{ id: string; token: string }>
  ask(session: ConsoleSession, path?: string, headers?: Record<string, string>): Promise<Answer>
}

export function createConsoleSessions(client: Client, url: () => string): ConsoleSessions {
  const secrets: string[] = []
  return {
    secrets,
    signIn: async ({ token, path = '/v1/session', origin = url(), headers = {} } = {}) => {
      const as = token === undefined ? {} : { token }
      const answer = await client.post(path, undefined, { ...as, headers: { origin, ...headers } })
      expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ session: expect.any(String) })])
      const cookie = String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
      const { session, token: shown } = answer.body
      const halves = { 'x-boxyard-session': session, cookie }
      const joined = judgeSession({ target: '/', headers: halves }, { signsIn: false })
      const { authorization = '' } = 'code' in joined ? {} : joined.authorization
      secrets.push(session, cookie.split('=')[1] ?? '', authorization.replace('Bearer ', ''))
      return { headers: halves, token: shown, answer }
    },
    link: async (token) => {
      const made = await client.post('/v1/session/links', undefined, token === undefined ? {} : { token })
      expect([made.status, made.body]).toEqual([201, expect.objectContaining({ ticket: expect.any(String) })])
      secrets.push(made.body.ticket)
      return made.body.ticket
    },
    mint: async (body) => {
      const minted = (await client.post('/v1/tokens', { name: 'page', projects: ['pages'], ...body })).body
      secrets.push(minted.token)
      return minted
    },
    ask: (session, path = '/v1/me', headers = {}) =>
      client.get(path, { token: null, headers: { ...session.headers, ...headers } }),
  }
}

/** Returns the status and code of an answer. */
export function statusAndCode({ status, body }: Answer): [number, string | null] {
  return [status, body?.code ?? null]
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns a single-use sign-in link of the administrator to the console of a front, or null if the front serves none. */
export async function signInLink(url: string, { dataDir }: { dataDir: string }): Promise<string | null> {
  // A server that listens at all addresses is reachable at this one.
  const origin = url.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:|$)/, '//127.0.0.1')
  const page = await fetch(`${origin}/sign-in`, { method: 'HEAD', headers: { accept: 'text/html' } })
  if (!page.ok) return null
  const token = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()
  const answer = await fetch(`${origin}/v1/session/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  if (!answer.ok) throw new Error(`The service did not create a sign-in link (status ${answer.status}).`)
  const { ticket } = (await answer.json()) as { ticket: string }
  return `${origin}/sign-in#${ticket}`
}

import type { KubeApi } from '../../lib/kube/api.ts'
import { isKubeError } from '../../lib/kube/errors.ts'
import type { FollowedView, Follower } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { FleetToken, FleetTokens, FleetView } from '../../ports/fleet/tokens.ts'
import { decodeRevocation, decodeToken, encodeRevocation, encodeToken, tokenIdOf, tokenKeyOf } from './token-objects.ts'

/** The tokens of a fleet, stored as objects of the kinds Token and Revocation in a Kubernetes cluster. */
export interface KubeTokens extends FleetTokens {
  /** Stops the followers that `follow` started. */
  close(): void
}

export interface KubeTokensSettings {
  api: Pick<KubeApi, 'objects'>
  /** Number of this cell. */
  cell: string
}

/** Creates the tokens of a fleet. Reads and writes work without `follow`, as a command of the host needs them. */
export function createKubeTokens({ api, cell }: KubeTokensSettings): KubeTokens {
  const [tokens, revocations] = [api.objects('Token'), api.objects('Revocation')]
  const followers: Follower[] = []
  const publish = (token: FleetToken): Promise<void> => createOnce(tokens, tokenKeyOf(token.id), encodeToken(token))
  return {
    cell,
    publish,
    change: async (token) => {
      const { keyId = null, expiresAt = null, signedOutAt } = encodeToken(token)
      const spec = { keyId, expiresAt, ...(signedOutAt === undefined ? {} : { signedOutAt }) }
      const changed = await tokens.patch(tokenKeyOf(token.id), { spec })
      if (changed === null) await publish(token)
    },
    revoke: (revocation) => createOnce(revocations, tokenKeyOf(revocation.token), encodeRevocation(revocation)),
    read: async (id) => {
      const key = tokenKeyOf(id)
      const [token, revocation] = await Promise.all([tokens.get(key), revocations.get(key)])
      if (token === null) return null
      return { token: decodeToken(token), revocation: revocation === null ? null : decodeRevocation(revocation) }
    },
    removeToken: async (id, { expiredBefore }) => {
      const isEnded = (object: KubeObject): boolean => {
        const { expiresAt } = decodeToken(object)
        return expiredBefore === null || (expiresAt !== null && expiresAt < expiredBefore)
      }
      await removeOnce(tokens, tokenKeyOf(id), isEnded)
    },
    removeRevocation: (token) => removeOnce(revocations, tokenKeyOf(token), () => true),
    follow: async (views) => {
      followers.push(tokens.follow(viewOf(views.tokens, decodeToken)))
      followers.push(revocations.follow(viewOf(views.revocations, decodeRevocation)))
      await Promise.all(followers.map((follower) => follower.start()))
    },
    close: () => {
      for (const follower of followers) follower.close()
    },
  }
}

async function createOnce(objects: KubeObjects, key: string, spec: Record<string, unknown>): Promise<void> {
  try {
    await objects.create(key, spec)
  } catch (error) {
    // Each id has only one token. So the existing object comes from another agent, or from an earlier attempt whose answer was lost.
    if (!isKubeError(error, 'exists')) throw error
  }
}

async function removeOnce(objects: KubeObjects, key: string, isEnded: (object: KubeObject) => boolean): Promise<void> {
  const found = await objects.get(key)
  if (found === null || !isEnded(found)) return
  try {
    await objects.delete(found)
  } catch (error) {
    // Another agent has changed it by now, so the next run looks at it again.
    if (!isKubeError(error, 'conflict')) throw error
  }
}

function viewOf<T>(view: FleetView<T>, decode: (object: KubeObject) => T): FollowedView<KubeObject> {
  return {
    replaceAll: async (pages) => {
      let listVersion = ''
      const decoded = async function* (): AsyncGenerator<T[]> {
        for await (const { items, version } of pages) {
          listVersion = version
          yield items.map(decode)
        }
      }
      await view.replaceAll(decoded())
      return listVersion
    },
    put: (object) => view.put(decode(object)),
    drop: (object) => view.drop(tokenIdOf(object)),
  }
}

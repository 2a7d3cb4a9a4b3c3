import { createHash } from 'node:crypto'
import type { Received } from './reception.ts'

/** In whose name a request takes what is shared out: its box's, or, where it is of none, its token's. */
export function ownerOf({ operation, params, trusted }: Pick<Received, 'operation' | 'params' | 'trusted'>): string {
  if (operation.path.startsWith(OF_A_BOX)) return `box ${params['project']}/${params['name']}`
  return `token ${createHash('sha256')
    .update(trusted.headers['authorization'] ?? '')
    .digest('base64url')}`
}

const OF_A_BOX = '/v1/projects/{project}/boxes/{name}'

import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { OPERATIONS } from '../../sdk/typescript/src/generated/operations.ts'
import { fillPath } from '../../sdk/typescript/src/path-parameters.ts'
import type { OpenedBox } from '../context/box-host.ts'
import { getQuickly } from '../context/quick-get.ts'

/** A user of a box, with the fields that an SSH server needs. */
export interface BoxAccount {
  uid: number
  gid: number
  home: string
  shell: string
}

/** Reads the box's own user list as text. Empty if the box has none. @throws ApiError, ConnectionError */
export async function readPasswd({ box, connection }: OpenedBox): Promise<string> {
  const path = fillPath(OPERATIONS.readFile.path, { project: box.project, name: box.name })
  const text = await getQuickly(connection, `${path}?path=${encodeURIComponent(PASSWD)}`)
  if (text !== null) return text
  try {
    return await new Response(await box.readFile(PASSWD)).text()
  } catch (error) {
    if (error instanceof ApiError && NO_FILE.has(error.code)) return ''
    throw error
  }
}

/** Finds a user, by name or number, in the text of a passwd file. Gives an unknown user the shell `/bin/sh`. A pure function. */
export function accountOf(passwd: string, user: string): BoxAccount {
  const [name = ''] = user.split(':')
  const lines = passwd.split('\n').map((line) => line.split(':'))
  const [, , uid, gid, , home = '', shell = ''] =
    lines.find(([login]) => login === name) ?? lines.find(([, , id]) => /^\d+$/.test(name) && id === name) ?? []
  const number = idOf(uid) ?? idOf(name) ?? 0
  return {
    uid: number,
    gid: idOf(gid) ?? 0,
    home: home.startsWith('/') ? home : number === 0 ? '/root' : '/',
    shell: shell.startsWith('/') ? shell.trim() : '/bin/sh',
  }
}

function idOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null
}

const PASSWD = '/etc/passwd'
const NO_FILE = new Set(['file_not_found', 'path_invalid', 'is_a_directory', 'not_a_directory'])

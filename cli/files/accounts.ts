import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'

/** A user of a box, as far as an SSH server needs to know it. */
export interface BoxAccount {
  uid: number
  gid: number
  home: string
  shell: string
}

/** Reads what the box itself says of a user; one that it does not know has the shell `/bin/sh`. @throws ApiError, ConnectionError */
export async function readAccount(box: BoxHandle, user: string): Promise<BoxAccount> {
  try {
    return accountOf(await new Response(await box.readFile('/etc/passwd')).text(), user)
  } catch (error) {
    if (error instanceof ApiError && NO_FILE.has(error.code)) return accountOf('', user)
    throw error
  }
}

/** Finds a user, by name or number, in the text of a passwd file. A pure function. */
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

const NO_FILE = new Set(['file_not_found', 'path_invalid', 'is_a_directory', 'not_a_directory'])

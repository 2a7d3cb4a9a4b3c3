import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { strongEtag } from '../files/entity-tags.ts'
import { copyNameOf } from '../files/local-name.ts'
import { absolutePathIn, orNull, requireRemotePath } from '../files/remote-path.ts'
import { startShellLine } from '../programs.ts'
import type { Verb } from './verb.ts'

const edit: Verb = {
  words: 'edit',
  args: '<box:path>',
  flags: [],
  summary: 'Edit a file of a box with $VISUAL or $EDITOR. Fails if the file changed while you edited it',
  examples: ['boxyard edit web:/etc/motd', 'EDITOR="code --wait" boxyard edit web:notes.txt'],
  operations: ['readFile', 'writeFile'],
  run: async ({ boxyard, project, environment, tell }, [given = '']) => {
    const remote = requireRemotePath(given)
    const path = await absolutePathIn(boxyard.box(project(), remote.box), remote.path)
    const place = { project: project(), name: remote.box, path }
    const before = await readTagged(boxyard, place)
    const directory = mkdtempSync(join(tmpdir(), 'boxyard-edit-'))
    const copy = join(directory, copyNameOf(remote))
    writeFileSync(copy, before.content)
    chmodSync(copy, 0o600)
    let isKept = true
    try {
      await runEditor(environment['VISUAL'] || environment['EDITOR'] || 'vi', copy)
      const content = readFileSync(copy)
      const isSame = content.equals(before.content)
      if (isSame) tell('No changes.')
      else await writeTagged(boxyard, place, { content, etag: before.etag })
      isKept = false
    } catch (error) {
      isKept = !readFileSync(copy).equals(before.content)
      if (!isKept) throw error
      const reason = error instanceof Error ? error.message : String(error)
      throw new Error(`${reason}\nThe file in the box was not changed. Your edited copy is ${copy}`, { cause: error })
    } finally {
      if (!isKept) rmSync(directory, { recursive: true, force: true })
    }
  },
}

/** The command that edits files of boxes. */
export const EDIT_VERBS: readonly Verb[] = [edit]

interface TaggedContent {
  content: Buffer
  /** Null if the file does not exist. */
  etag: string | null
}

interface FilePlace {
  project: string
  name: string
  path: string
}

async function readTagged(boxyard: Boxyard, { project, name, path }: FilePlace): Promise<TaggedContent> {
  const response = await orNull(boxyard.transfer('readFile', { path: { project, name }, query: { path } }))
  if (response === null) return { content: Buffer.alloc(0), etag: null }
  return { content: Buffer.from(await response.arrayBuffer()), etag: strongEtag(response.headers) }
}

async function writeTagged(
  boxyard: Boxyard,
  { project, name, path }: FilePlace,
  { content, etag }: TaggedContent,
): Promise<void> {
  const headers: Record<string, string> = etag === null ? { 'if-none-match': '*' } : { 'if-match': etag }
  const contentType = 'application/octet-stream'
  await boxyard.transfer('writeFile', { path: { project, name }, query: { path }, body: content, contentType, headers })
}

/** Runs an editor, given as a shell command line, to its end. @throws Error unless it exits with 0 */
function runEditor(editor: string, path: string): Promise<void> {
  const child = startShellLine(editor, path)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${editor} exited with code ${code}.`))))
  })
}

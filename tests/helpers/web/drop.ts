import type { Locator } from 'playwright-core'

/** Drops files and directories of this machine onto an element, as a user does from a file manager. */
export async function dropFiles(onto: Locator, files: string[]): Promise<void> {
  await onto.waitFor()
  const box = await onto.boundingBox()
  if (box === null) throw new Error('nothing to drop onto')
  const page = onto.page()
  const devtools = await page.context().newCDPSession(page)
  const data = { items: [], files, dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', { type, x: box.x + 5, y: box.y + 5, data })
  await devtools.detach()
}

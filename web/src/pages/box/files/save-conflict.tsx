import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'

/** Why a text was not saved: the file has other content now, or is gone. */
export type ConflictKind = 'changed' | 'deleted'

interface SaveConflictProps {
  path: string
  /** Null: there is none. */
  kind: ConflictKind | null
  close(): void
  /** Discards the changes for the current content. */
  giveUp(): void
  /** Writes the text all the same. */
  write(): void
}

/** Reports that nothing was saved and why, and asks what to do with the text. */
export function SaveConflict({ path, kind, close, giveUp, write }: SaveConflictProps) {
  const chosen = (act: () => void) => () => {
    close()
    act()
  }
  const isDeleted = kind === 'deleted'
  return (
    <Dialog
      title={isDeleted ? 'The file was deleted' : 'The file has changed'}
      about={
        isDeleted
          ? `Someone deleted or renamed ${path} after you opened it. Your changes are not saved.`
          : `Someone changed ${path} after you opened it. Your changes are not saved.`
      }
      isOpen={kind !== null}
      close={close}
    >
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={close}>Keep editing</Button>
        <Button onClick={chosen(giveUp)}>{isDeleted ? 'Discard changes' : 'Reload'}</Button>
        {isDeleted ? (
          <Button kind="primary" onClick={chosen(write)}>
            Save as new file
          </Button>
        ) : (
          <Button kind="danger" onClick={chosen(write)}>
            Overwrite
          </Button>
        )}
      </div>
    </Dialog>
  )
}

import { TextAreaField } from './field.tsx'
import { Chip } from './status.tsx'
import { tagLines } from './tags.ts'

/** Tags to edit, one a line. `parseTags` reads its text. */
export function TagsField({ name, tags = {} }: { name: string; tags?: Readonly<Record<string, string>> }) {
  return (
    <TextAreaField
      label="Tags"
      name={name}
      rows={3}
      defaultValue={tagLines(tags)}
      hint={
        <>
          One per line, such as <code>env=prod</code>.
        </>
      }
    />
  )
}

/** The first tags in one line, with the number of the others. A tooltip has all of them. */
export function TagsInRow({ tags }: { tags: Readonly<Record<string, string>> }) {
  const count = Object.keys(tags).length
  if (count === 0) return null
  return (
    <span className="flex items-center gap-1 *:truncate" title={tagLines(tags)}>
      <Tags tags={Object.fromEntries(Object.entries(tags).slice(0, SHOWN_IN_ROW))} />
      {count > SHOWN_IN_ROW && <span className="shrink-0 text-xs text-muted">+{count - SHOWN_IN_ROW}</span>}
    </span>
  )
}

/** Tags in words. */
export function Tags({ tags }: { tags: Readonly<Record<string, string>> }) {
  return Object.entries(tags).map(([key, value]) => <Chip key={key}>{value === '' ? key : `${key}=${value}`}</Chip>)
}

const SHOWN_IN_ROW = 2

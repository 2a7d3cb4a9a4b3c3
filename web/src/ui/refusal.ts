import { type SyntheticEvent, useState } from 'react'
import { refusalWords } from './refusal-words.ts'

type FormField = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Why a field is refused, and the handlers that update this. */
interface Refusal {
  /** Undefined while nothing is wrong. */
  words: string | undefined
  onInvalid(event: SyntheticEvent<FormField>): void
  onInput(event: SyntheticEvent<FormField>): void
}

/**
 * Explains at a field why its form is not sent. A browser's own texts are in its language, disappear after some seconds, and do not
 * describe valid names. Ours stay until the value is right.
 */
export function useRefusal(): Refusal {
  const [words, setWords] = useState<string>()
  const look = (field: FormField): void =>
    setWords(field.validity.valid ? undefined : refusalWords(field.validity, field))
  return {
    words,
    onInvalid: (event) => {
      event.preventDefault()
      const field = event.currentTarget
      look(field)
      // The same as in a browser that shows its own texts.
      if (field.form?.querySelector(':is(input, select, textarea):invalid') === field) field.focus()
    },
    onInput: ({ currentTarget: field }) => {
      if (words !== undefined) look(field)
    },
  }
}

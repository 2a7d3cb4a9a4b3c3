import { type SyntheticEvent, useState } from 'react'
import { refusalWords } from './refusal-words.ts'

type FormField = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** Why a field is refused, and what makes it say so. */
interface Refusal {
  /** Undefined while nothing is wrong. */
  words: string | undefined
  onInvalid(event: SyntheticEvent<FormField>): void
  onInput(event: SyntheticEvent<FormField>): void
}

/**
 * Tells at a field why its form is not sent, in our words: those of a browser are in its own language, beside the field for some seconds,
 * and do not say what a name may be. They stay until the value is right.
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
      // As a browser does that shows its own words.
      if (field.form?.querySelector(':is(input, select, textarea):invalid') === field) field.focus()
    },
    onInput: ({ currentTarget: field }) => {
      if (words !== undefined) look(field)
    },
  }
}

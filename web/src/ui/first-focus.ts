/**
 * Focuses the first empty required field of a dialog, else the field with `data-first`, else the first field, button or control. Returns
 * true if there is one.
 */
export function focusFirst(place: EventTarget | null): boolean {
  if (!(place instanceof Element)) return false
  const fields = [...place.querySelectorAll<FormField>(FIELDS)].filter((field) => field.checkVisibility())
  const first =
    fields.find((field) => field.required && field.value === '') ??
    fields.find((field) => 'first' in field.dataset) ??
    fields[0] ??
    place.querySelector<HTMLElement>(DIALOG_BUTTONS) ??
    place.querySelector<HTMLElement>(BODY_CONTROLS)
  first?.focus()
  // Typing replaces a suggestion.
  if (first instanceof HTMLInputElement && 'first' in first.dataset) first.select()
  return first !== null
}

/** Focuses a form that has appeared in an already open dialog, unless one of its fields has the focus. */
export function focusLate(form: HTMLElement | null): void {
  if (form?.closest('[role="dialog"]') && !form.contains(document.activeElement)) focusFirst(form)
}

type FormField = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const FIELDS = ':is(input:not([type="hidden"]), select, textarea):enabled'
/** In their order. The first one destroys nothing. */
const DIALOG_BUTTONS = '.dialog-buttons button, form > :last-child:has(> [type="submit"]) > button'
const BODY_CONTROLS = '.dialog-body :is(button:enabled, a[href])'

// Every export of the package, by hand.
export { twice } from './twice.ts';

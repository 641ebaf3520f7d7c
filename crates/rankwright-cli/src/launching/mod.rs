//! What commands share that write for a launcher or start it. A [`prepared`] placement becomes the
//! library's `Launch`; its [`files`] go into a folder of the [user's](user_folder), or into a
//! temporary one where the job is [`started`] here.

pub(crate) mod files;
pub(crate) mod network_stack;
pub(crate) mod prepared;
pub(crate) mod started;
pub(crate) mod user_folder;
